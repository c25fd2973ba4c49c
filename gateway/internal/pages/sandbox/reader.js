// The page that shows the OpenAPI document of the server. All that it asks for is at its own address. A token is kept as long as the page is
// open, and nowhere else.
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import 'swagger-ui-dist/swagger-ui.css';
import './reader.css';

const root = document.getElementById('reader');
const form = document.getElementById('caller');

// named is what stands in place of a schema that is shown by itself.
const named = (ref) => ({ type: 'object', title: ref.slice(ref.lastIndexOf('/') + 1) });

// cut returns a value without references to schemas.
function cut(value) {
  if (Array.isArray(value)) return value.map(cut);
  if (value === null || typeof value !== 'object') return value;
  if (typeof value.$ref === 'string' && value.$ref.startsWith('#/components/schemas/')) return named(value.$ref);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item)]));
}

// shallow returns a document whose schemas do not lead into one another. Swagger UI replaces every reference by what it leads to, which has no
// end where filters lead through relations to other filters. Only answers still lead to the schema of their documents.
function shallow({ components, paths, ...rest }) {
  const schemas = Object.fromEntries(Object.entries(components.schemas ?? {})
    .map(([name, schema]) => [name, /(Answer|List)$/.test(name) ? schema : cut(schema)]));
  const within = (parameter) => (parameter.schema ? { ...parameter, schema: cut(parameter.schema) } : parameter);
  const operations = (item) => Object.fromEntries(Object.entries(item)
    .map(([method, operation]) => [method, operation.parameters ? { ...operation, parameters: operation.parameters.map(within) } : operation]));
  return {
    ...rest,
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, operations(item)])),
    components: { ...components, schemas },
  };
}

// show shows the document of a caller: with a token, what the token may do. Requests that are tried out carry the token, too.
async function show(token) {
  const answer = await fetch(root.dataset.document, { credentials: 'omit', headers: token ? { Authorization: `Bearer ${token}` } : {} });
  if (!answer.ok) {
    root.textContent = `The document cannot be read: ${answer.status}. Is the token valid?`;
    return;
  }
  const spec = shallow(await answer.json());
  spec.servers = [{ url: new URL(spec.servers[0].url, location.href).href }];
  const ui = SwaggerUI({
    domNode: root,
    spec,
    validatorUrl: null, // no service of others is asked
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    requestInterceptor: (request) => ({ ...request, credentials: 'omit' }),
    onComplete: () => token && ui.preauthorizeApiKey('bearer', token),
  });
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  show(new FormData(form).get('token').trim());
});
show('');
