// Clients of several askers.
import { strapi } from '@strapi/client';

/** What `lectern serve --ephemeral` prints: the server's address and API tokens by name. */
export const { base, tokens } = JSON.parse(process.env.LECTERN);

const baseURL = `${base}/api`;

/** A client without a credential. */
export const visitor = () => strapi({ baseURL });

/** A client with an API token: full, readonly, or one of project/config/permissions.yaml. */
export const holder = (token) => strapi({ baseURL, auth: tokens[token] });

/** A client that logs in when it is first used. strapi() has no option for that, the class that it makes has. */
export const user = (identifier, password) => {
  const StrapiClient = visitor().constructor;
  return new StrapiClient({ baseURL, auth: { strategy: 'users-permissions', options: { identifier, password } } });
};

/** Asks for a path below /api as the client asks, with a body of JSON. */
export const ask = (client, path, method = 'GET', body = undefined) =>
  client.fetch(path, { method, body: body && JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });

/** The body of its answer. */
export const fetchJSON = async (...question) => (await ask(...question)).json();
