// Requests that show how a type is read and written. They work as they are, for who has the permissions of the reader.
import type { Access, Attribute, ContentType } from "../../api/access.ts";
import { isSingle, mainAttribute, pathOf, readsDrafts } from "../../api/access.ts";
import type { Request } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import type { Query } from "../../api/query.ts";

export interface Operation {
  id: string;
  method: string;
  path: string; // with the prefix, and names in braces
  summary: string;
  parameters: Parameter[];
  body: Json | undefined; // an example
  status: string; // of a success
  answer: Json | undefined; // an example
}

export interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema?: { type?: string | string[]; enum?: Json[] };
}

interface Described {
  operationId?: string;
  summary?: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content?: Record<string, { example?: Json }> };
  responses?: Record<string, { content?: Record<string, { example?: Json }> }>;
}

export interface Document {
  paths: Record<string, Record<string, Described>>;
  components?: { parameters?: Record<string, Parameter> };
}

const self = "/_openapi.json";

// prefixOf returns the path of the API as an OpenAPI document has it, such as /api.
export function prefixOf(document: Document): string {
  return Object.keys(document.paths).find((path) => path.endsWith(self))?.slice(0, -self.length) ?? "/api";
}

// What a request does decides where it stands: reading first, deleting last, each where the ones before have left what it needs.
const order = ["find", "findOne", "history", "create", "update", "publish", "discardDraft", "unpublish", "restore", "preview", "delete"];
const rank = (id: string) => {
  const at = order.findLastIndex((verb) => id.startsWith(verb));
  return at < 0 ? order.length - 2.5 : at;
};

// operationsOf returns the operations of a type in an OpenAPI document.
export function operationsOf(document: Document, type: ContentType): Operation[] {
  const base = `${prefixOf(document)}/${pathOf(type)}`;
  const list: Operation[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    if (path !== base && !path.startsWith(`${base}/`)) continue;
    for (const [method, described] of Object.entries(methods)) {
      if (!["get", "post", "put", "delete"].includes(method)) continue;
      const [status = "", success] = Object.entries(described.responses ?? {}).find(([code]) => code.startsWith("2")) ?? [];
      list.push({
        id: described.operationId ?? `${method} ${path}`,
        method: method.toUpperCase(),
        path,
        summary: described.summary ?? "",
        parameters: (described.parameters ?? []).flatMap((parameter) => parameterOf(document, parameter)),
        body: described.requestBody?.content?.["application/json"]?.example,
        status,
        answer: success?.content?.["application/json"]?.example,
      });
    }
  }
  return list.sort((a, b) => rank(a.id) - rank(b.id));
}

function parameterOf(document: Document, parameter: Parameter | { $ref: string }): Parameter[] {
  if (!("$ref" in parameter)) return [parameter];
  const found = document.components?.parameters?.[parameter.$ref.split("/").at(-1) ?? ""];
  return found ? [found] : [];
}

// Known is what requests are made of beside the definitions.
export interface Known {
  documentId: string; // of a document that the reader may see
  seq: string | null; // of an entry of its history
  suffix: string; // makes values unique
}

// requestOf returns an example of an operation.
export function requestOf(access: Access, type: ContentType, operation: Operation, prefix: string, known: Known): Request {
  const path = operation.path.slice(prefix.length + 1).replace("{documentId}", known.documentId);
  const request: Request = { method: operation.method, path };
  const query = queryOf(access, type, operation);
  if (Object.keys(query).length > 0) request.query = query;
  if (operation.id.startsWith("restore")) request.body = { data: { seq: known.seq ?? "SEQ" } };
  else if (isObject(operation.body) && isObject(operation.body.data)) {
    const action = operation.id.startsWith("create") ? "create" : "update";
    request.body = { data: dataOf(type, operation.body.data, action, `${known.suffix}-${action}`) };
  }
  return request;
}

function queryOf(access: Access, type: ContentType, operation: Operation): Query {
  if (operation.id.startsWith("findOne") || (operation.id.startsWith("find") && isSingle(type))) return { ...drafts(access, type), populate: "*" };
  if (operation.id.startsWith("find")) {
    const main = mainAttribute(type);
    return { ...drafts(access, type), ...(main === null ? {} : { sort: `${main}:asc` }), pagination: { pageSize: 2 }, populate: "*" };
  }
  if (operation.method === "PUT" || operation.id.startsWith("create")) return publishes(access, type) ? {} : { status: "draft" };
  return {};
}

const drafts = (access: Access, type: ContentType): Query => (readsDrafts(access, type) ? { status: "draft" } : {});

// publishes reports whether what the reader writes may be published at once.
const publishes = (access: Access, type: ContentType) => !type.schema.draftAndPublish || !access.draftsGranted || "publish" in type.actions;

const isObject = (value: Json | undefined): value is { [key: string]: Json } => typeof value === "object" && value !== null && !Array.isArray(value);

// dataOf returns an example of what a write sends: what the reader may write, and other values each time where they must
// be unique.
export function dataOf(type: ContentType, example: { [key: string]: Json }, action: "create" | "update", suffix: string): { [key: string]: Json } {
  const fields = type.actions[action]?.fields;
  const data: { [key: string]: Json } = {};
  for (const [name, value] of Object.entries(example)) {
    const attribute = type.schema.attributes[name];
    if (fields && !fields.includes(name)) continue;
    const unique = attribute?.unique || attribute?.type === "uid";
    data[name] = unique && typeof value === "string" ? (attribute?.type === "email" ? `${suffix}-${value}` : `${value}-${suffix}`) : value;
  }
  return data;
}

export interface GraphQL {
  query: string;
  variables: { [name: string]: Json };
}

const scalars = ["string", "text", "richtext", "email", "uid", "enumeration", "integer", "biginteger", "float", "decimal", "boolean", "date", "time",
  "datetime", "timestamp", "json", "blocks"];

// selectionOf returns what a GraphQL operation asks of a document: its readable attributes, and the ids of what it leads to.
export function selectionOf(access: Access, attributes: Record<string, Attribute>): string[] {
  return Object.entries(attributes).flatMap(([name, attribute]) => {
    if (!attribute.readable || attribute.type === "password") return [];
    if (scalars.includes(attribute.type)) return [name];
    if (attribute.type === "media") return [`${name} { url }`];
    if (attribute.type === "relation") {
      const target = access.contentTypes.find((type) => type.uid === attribute.target);
      return target && "find" in target.actions ? [`${name} { documentId }`] : [];
    }
    if (attribute.type === "component") {
      const component = access.components.find((one) => one.uid === attribute.component);
      const inner = component ? Object.entries(component.schema.attributes).filter(([, a]) => a.readable && scalars.includes(a.type)).map(([key]) => key) : [];
      return inner.length > 0 ? [`${name} { ${inner.join(" ")} }`] : [];
    }
    return attribute.type === "dynamiczone" ? [`${name} { __typename }`] : [];
  });
}

// graphQLOf returns a query, and a mutation if the reader may write: create of a collection, update of a single type.
export function graphQLOf(access: Access, type: ContentType, operations: Operation[], known: Known): { query?: GraphQL; mutation?: GraphQL } {
  if (!type.graphql || access.graphql === null) return {};
  const lower = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);
  const fields = ["documentId", ...selectionOf(access, type.schema.attributes)];
  const selection = fields.map((field) => `    ${field}`).join("\n");
  const made: { query?: GraphQL; mutation?: GraphQL } = {};
  const status = readsDrafts(access, type) ? "status: DRAFT" : "";
  if ("find" in type.actions) {
    const name = lower(isSingle(type) ? type.graphql.type : type.graphql.plural);
    const args = [isSingle(type) ? "" : "pagination: { pageSize: 2 }", status].filter(Boolean).join(", ");
    made.query = { query: `query {\n  ${name}${args ? `(${args})` : ""} {\n${selection}\n  }\n}`, variables: {} };
  }
  const action = isSingle(type) ? "update" : "create";
  const write = operations.find((operation) => operation.id.startsWith(action) && operation.method === (isSingle(type) ? "PUT" : "POST"));
  if (action in type.actions && write && isObject(write.body) && isObject(write.body.data)) {
    const args = ["data: $data", ...(publishes(access, type) ? [] : ["status: DRAFT"])].join(", ");
    const shown = "find" in type.actions ? "documentId" : "__typename";
    made.mutation = {
      query: `mutation ($data: ${type.graphql.type}Input!) {\n  ${action}${type.graphql.type}(${args}) {\n    ${shown}\n  }\n}`,
      variables: { data: dataOf(type, write.body.data, action, `${known.suffix}-graphql`) },
    };
  }
  return made;
}
