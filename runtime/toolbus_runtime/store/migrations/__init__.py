"""The history of the schema; one file per revision in `versions/`, named r0001_…, r0002_… in one line."""
