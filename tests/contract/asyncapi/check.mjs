// Reads an AsyncAPI document with the official parser; says what is wrong with it, and fails on errors and warnings.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const path = process.argv[2];
const { document, diagnostics } = await new Parser().parse(readFileSync(path, "utf-8"), { source: path });
const found = diagnostics.filter((one) => one.severity <= 1);
for (const one of found) console.error(`${one.code} at ${one.path.join("/")}: ${one.message}`);
if (found.length > 0 || document === undefined) process.exit(1);
console.log(`${path}: AsyncAPI ${document.version()}, ${document.channels().length} channels, ${document.operations().length} operations`);
