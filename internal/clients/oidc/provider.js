// Runs oidc-provider at the address of ADDRESS, with new keys at each start. REDIRECT is the address to which its clients
// lectern and other have browsers sent back. It prints a line when it answers.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import Provider from 'oidc-provider';

const { ADDRESS, REDIRECT, SECRET } = process.env;
const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
const client = (id) => ({
  client_id: id, client_secret: SECRET, redirect_uris: [REDIRECT], response_types: ['code'],
  grant_types: ['authorization_code'],
});

const provider = new Provider(`http://${ADDRESS}`, {
  jwks: { keys: [{ ...key, use: 'sig', alg: 'RS256', kid: randomUUID() }] },
  clients: [client('lectern'), client('other')],
  cookies: { keys: [randomUUID()] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username'] },
  pkce: { required: () => true },
  // Anybody logs in by a name. Addresses of names that begin with "un" are not verified.
  findAccount: (_, name) => ({
    accountId: name,
    claims: () => ({
      sub: name, email: `${name.replace(/^un/, '')}@people.test`, email_verified: !name.startsWith('un'),
      preferred_username: name,
    }),
  }),
  loadExistingGrant: async (ctx) => { // nobody is asked for consent
    const grant = new ctx.oidc.provider.Grant({
      clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
});
const [host, port] = ADDRESS.split(':');
provider.listen(Number(port), host, () => console.log('ready'));
