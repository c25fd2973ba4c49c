// Query strings as the API reads them: {filters: {title: {$contains: "a"}}} is filters[title][$contains]=a.

export type Query = { [name: string]: QueryValue };
export type QueryValue = undefined | null | boolean | number | string | QueryValue[] | Query;

// queryString returns a query with a question mark before it; "" if it has nothing.
export function queryString(query: Query = {}): string {
  const pairs: string[] = [];
  const add = (key: string, value: QueryValue) => {
    if (value === undefined) return;
    if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) add(`${key}[${encodeURIComponent(name)}]`, inner);
    } else pairs.push(`${key}=${encodeURIComponent(value === null ? "" : String(value))}`);
  };
  for (const [name, value] of Object.entries(query)) add(encodeURIComponent(name), value);
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}
