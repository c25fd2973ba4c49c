// What the IDE keeps in the browser: the localStorage of the page, as GraphiQL uses it, but for the headers of operations. GraphiQL leaves
// them out of its tabs and writes them with the operations of its history and favorites, where a token would stay after the page is closed.

const namespace = 'graphiql:';
const histories = [`${namespace}queries`, `${namespace}favorites`];

const withoutHeaders = (operations) =>
  JSON.stringify(JSON.parse(operations), (key, value) => (key === 'headers' ? undefined : value));

const keys = () => Object.keys(localStorage).filter((key) => key.startsWith(namespace));

export const storage = {
  getItem: (key) => localStorage.getItem(key),
  setItem: (key, value) => localStorage.setItem(key, histories.includes(key) ? withoutHeaders(value) : value),
  removeItem: (key) => localStorage.removeItem(key),
  clear: () => keys().forEach(storage.removeItem),
  get length() {
    return keys().length;
  },
};

/** Removes the headers that pages of earlier versions kept. */
export function forgetHeaders() {
  for (const key of histories) {
    const kept = storage.getItem(key);
    if (kept) storage.setItem(key, kept);
  }
}
