// The audits of graphql-http for GraphQL over HTTP. The reference passes all except those listed here, without and with a token.
// This server must do the same: a listed audit must fail, or the list is wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { serverAudits } from 'graphql-http';

const { base, tokens } = JSON.parse(process.env.LECTERN);

const preflight = 'a GET that a page of another origin could send without asking leave is refused as cross-site request forgery';
const refused = 'a document that is not run is answered 400, whatever the client accepts';

/** Audits that contradict the behaviour of the reference, by id. */
const contradicting = {
  '5A70': ['MAY', preflight], // form-encoded GET
  D6D5: ['MAY', preflight], // variables in GET, application/graphql-response+json
  '6A70': ['MAY', preflight], // variables in GET, application/json
  '572B': ['SHOULD', refused], // 200 where parsing fails, application/json
  FDE2: ['SHOULD', refused], // 200 where validation fails, application/json
  '7B9B': ['SHOULD', refused], // 200 where variables are wrong, application/json
};

/** The status of an audit that did not pass, by the level of its requirement. */
const failing = { MAY: 'notice', SHOULD: 'warn', MUST: 'error' };

for (const [principal, headers] of [['the public', {}], ['a token', { authorization: `Bearer ${tokens.full}` }]]) {
  describe(`audits, as ${principal}`, () => {
    const fetchFn = (url, options = {}) => fetch(url, { ...options, headers: { ...options.headers, ...headers } });
    const audits = serverAudits({ url: `${base}/graphql`, fetchFn });

    test('all are there', () => {
      assert.equal(audits.length, 61);
      const ids = audits.map(({ id }) => id);
      assert.deepEqual(Object.keys(contradicting).filter((id) => !ids.includes(id)), [], 'listed, but none of them');
    });

    for (const { id, name, fn } of audits) {
      test(`${id} ${name}`, async () => {
        const { status, reason } = await fn();
        const [demands, why] = contradicting[id] ?? [];
        if (why) {
          assert.ok(name.startsWith(demands), `it demands more than ${demands}`);
          assert.equal(status, failing[demands], `it is listed, since ${why}, and passes`);
        } else {
          assert.equal(status, 'ok', reason);
        }
      });
    }
  });
}
