// Apollo clients as an application sets them up.
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache } from '@apollo/client';

/** What `lectern serve --ephemeral` prints: the server's address and API tokens by name. */
export const { base, tokens } = JSON.parse(process.env.LECTERN);

export const uri = `${base}/graphql`;

/** The headers of who has an API token: full, readonly, or one of project/config/permissions.yaml. */
export const bearing = (token) => (token ? { authorization: `Bearer ${tokens[token]}` } : {});

/** A cache that knows a document by its documentId, and the members of the dynamic zone. */
const cache = () => new InMemoryCache({
  dataIdFromObject: ({ __typename, documentId, id }) => (documentId ?? id) && `${__typename}:${documentId ?? id}`,
  possibleTypes: { ArticleSectionsDynamicZone: ['ComponentSharedQuote', 'ComponentSharedPicture', 'Error'] },
});

/** A client with an API token, or without; links stand before the one that sends. */
export const apollo = ({ token = undefined, headers = bearing(token), links = [], http = new HttpLink({ uri, headers }) } = {}) =>
  new ApolloClient({ cache: cache(), link: ApolloLink.from([...links, http]) });

/** What was sent and answered, noted by a fetch to give to an HttpLink. */
export const noted = () => {
  const log = [];
  const fetchNoted = async (url, options) => {
    const response = await fetch(url, options);
    log.push({ method: options.method, url: String(url), body: options.body, status: response.status, headers: response.headers });
    return response;
  };
  return { log, fetch: fetchNoted };
};

/** The errors of a refused operation as [message, code]. */
export const errorsOf = async (operation) => {
  const error = await operation.then(() => undefined, (e) => e);
  if (!CombinedGraphQLErrors.is(error)) throw error ?? new Error('it was not refused');
  return error.errors.map(({ message, extensions }) => [message, extensions.code]);
};
