// Reads {secret, headers, body (base64)} and verifies with the public JavaScript library; prints what it read.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secret, headers, body } = JSON.parse(readFileSync(0, "utf8"));
const told = new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
process.stdout.write(JSON.stringify(told));
