"""The ready tools, one module each: written against `toolbus` alone, as a third party would."""
