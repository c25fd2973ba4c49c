// The page that browsers find at the GraphQL endpoint, where it holds an IDE. All that it asks for is at its own address.
import { createElement as h, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { setNonce } from 'get-nonce';
import { GraphiQL } from 'graphiql';
import 'graphiql/style.css';
import './style.css';
import { forgetHeaders, storage } from './storage.js';

// Dialogs keep the page behind them from scrolling by a style of their own, which the policy of the page allows by this.
setNonce(document.querySelector('script[nonce]').nonce);

const root = document.getElementById('ide');
const introspection = root.dataset.introspection === 'on';

// Lines that are not cut off in a window of 1024 pixels, where the editor has 37 columns.
const welcome = `# Ctrl-Enter runs what stands here.
# Ctrl-Space completes it.
# The book at the left holds docs.
#
# Who asks is said below, in Headers:
#   {"Authorization": "Bearer …"}

{
  __typename
}
`;

const closed = 'Introspection is off here, so there are neither docs nor completion. '
  + 'graphql.config.apolloServer.introspection: true in config/plugins.yaml turns it on.';

// ask sends an operation to the address of the page. GraphiQL reads the names of operations a moment after they were typed: one
// that is gone by now is not sent. What is no JSON, such as the words of a proxy, is shown as it came.
async function ask({ operationName, ...operation }, options) {
  if (operationName && operation.query.includes(operationName)) operation.operationName = operationName;
  const headers = new Headers(options?.headers);
  headers.set('content-type', 'application/json');
  headers.set('accept', 'application/json');
  const answer = await fetch(location.pathname, {
    method: 'POST', credentials: 'omit', headers, body: JSON.stringify(operation),
  });
  const text = await answer.text();
  try {
    return JSON.parse(text);
  } catch {
    return { status: answer.status, text };
  }
}

// given is what the address of the page says of an operation, as it would be asked for by GET: ?query=…&variables=…&operationName=….
// It fills a tab of its own, beside those that the browser remembers, and is not run before somebody does.
const given = (name) => new URLSearchParams(location.search).get(name) || undefined;

// indented is JSON text as people read it, and other text as it is.
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Page() {
  // The operation of the address is the one that is run while its text stands in the editor: not once that is edited, nor in other tabs.
  const [operationName, setOperationName] = useState(given('operationName'));
  const show = (query) => setOperationName(query === given('query') ? given('operationName') : undefined);
  return h(
    GraphiQL,
    {
      fetcher: ask,
      schema: introspection ? undefined : null, // null: do not ask for it
      defaultQuery: welcome,
      query: given('query'),
      variables: given('query') && given('variables') && indented(given('variables')),
      operationName,
      onEditQuery: show,
      onTabChange: ({ tabs, activeTabIndex }) => show(tabs[activeTabIndex].query),
      defaultEditorToolsVisibility: true,
      storage,
      showPersistHeadersSettings: false, // tokens are not kept in the browser
    },
    h(GraphiQL.Logo, null, 'GraphQL'),
    !introspection && h(GraphiQL.Footer, null, h('p', { className: 'closed' }, closed)),
  );
}

forgetHeaders();
createRoot(root).render(h(Page));
