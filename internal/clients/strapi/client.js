// Clients with different permissions.
import { strapi } from '@strapi/client';

/** The output of `lectern serve --ephemeral`: the address of the server, and its API tokens by name. */
export const { base, tokens } = JSON.parse(process.env.LECTERN);

const baseURL = `${base}/api`;

/** A client without credentials. */
export const visitor = () => strapi({ baseURL });

/** Returns a client with an API token: full, readonly, or one of project/config/permissions.yaml. */
export const holder = (token) => strapi({ baseURL, auth: tokens[token] });

/** Returns a client that logs in at its first request. strapi() has no option for that, but the class of its result has. */
export const user = (identifier, password) => {
  const StrapiClient = visitor().constructor;
  return new StrapiClient({ baseURL, auth: { strategy: 'users-permissions', options: { identifier, password } } });
};

/** Sends a request for a path below /api with a JSON body, as the client sends it. */
export const ask = (client, path, method = 'GET', body = undefined) =>
  client.fetch(path, { method, body: body && JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });

/** Sends a request and returns the body of the response. */
export const fetchJSON = async (...question) => (await ask(...question)).json();
