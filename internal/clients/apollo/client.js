// Apollo clients as an application sets them up.
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache } from '@apollo/client';

/** The output of `lectern serve --ephemeral`: the address of the server, and its API tokens by name. */
export const { base, tokens } = JSON.parse(process.env.LECTERN);

export const uri = `${base}/graphql`;

/** Returns the headers for an API token: full, readonly, or one of project/config/permissions.yaml. */
export const bearing = (token) => (token ? { authorization: `Bearer ${tokens[token]}` } : {});

/** Returns a cache that identifies documents by documentId and knows the components of the dynamic zone. */
const cache = () => new InMemoryCache({
  dataIdFromObject: ({ __typename, documentId, id }) => (documentId ?? id) && `${__typename}:${documentId ?? id}`,
  possibleTypes: { ArticleSectionsDynamicZone: ['ComponentSharedQuote', 'ComponentSharedPicture', 'Error'] },
});

/** Returns a client, with an API token or without. The links precede the one that sends requests. */
export const apollo = ({ token = undefined, headers = bearing(token), links = [], http = new HttpLink({ uri, headers }) } = {}) =>
  new ApolloClient({ cache: cache(), link: ApolloLink.from([...links, http]) });

/** Returns a fetch for an HttpLink, and the list of requests and responses that it records. */
export const noted = () => {
  const log = [];
  const fetchNoted = async (url, options) => {
    const response = await fetch(url, options);
    log.push({ method: options.method, url: String(url), body: options.body, status: response.status, headers: response.headers });
    return response;
  };
  return { log, fetch: fetchNoted };
};

/** Returns the errors of a refused operation as [message, code]. */
export const errorsOf = async (operation) => {
  const error = await operation.then(() => undefined, (e) => e);
  if (!CombinedGraphQLErrors.is(error)) throw error ?? new Error('it was not refused');
  return error.errors.map(({ message, extensions }) => [message, extensions.code]);
};
