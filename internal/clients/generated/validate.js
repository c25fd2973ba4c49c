// Validates OpenAPI documents: node validate.js FILE…
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';

const validator = new Validator();
for (const file of process.argv.slice(2)) {
  const { valid, errors } = await validator.validate(JSON.parse(readFileSync(file, 'utf8')));
  if (!valid) {
    console.error(file, JSON.stringify(errors, null, 1));
    process.exitCode = 1;
  }
}
