// Who is logged in, what they may do, and the definitions of the types that this concerns: what GET /api/_access says.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { ask } from "./client.ts";
import type { Json } from "./json.ts";

export interface Attribute {
  type: string;
  readable: boolean;
  required?: boolean;
  unique?: boolean;
  default?: Json;
  min?: number | string;
  max?: number | string;
  minLength?: number;
  maxLength?: number;
  regex?: string;
  enum?: string[];
  targetField?: string;
  relation?: string;
  target?: string;
  targetAttribute?: string | null;
  component?: string;
  components?: string[];
  repeatable?: boolean;
  multiple?: boolean;
  allowedTypes?: string[];
  pluginOptions?: { i18n?: { localized?: boolean } };
}

export interface Schema {
  displayName: string;
  singularName: string;
  pluralName: string;
  kind: "collectionType" | "singleType";
  draftAndPublish: boolean;
  pluginOptions?: { i18n?: { localized?: boolean } };
  attributes: Record<string, Attribute>;
}

export interface Action {
  limited: boolean; // a rule says on which documents
  fields?: string[]; // that a write may have; of find, those that are read, with updatedAt and its like
}

export interface ContentType {
  uid: string;
  apiID: string;
  schema: Schema;
  actions: Record<string, Action>;
  preview: boolean; // a website shows drafts
  graphql?: { type: string; plural: string }; // the names that fields and types of GraphQL are made of
}

export interface Component {
  uid: string;
  schema: { displayName: string; attributes: Record<string, Attribute> };
}

export interface Access {
  principal: { kind: "public" | "user" | "token"; id?: number; name?: string; role?: string };
  permissions: string[];
  contentTypes: ContentType[];
  components: Component[];
  locales: string[];
  draftsGranted: boolean;
  graphql: string | null; // the path of the GraphQL endpoint
  version: string;
}

export const accessQuery = queryOptions({
  queryKey: ["access"],
  queryFn: async ({ signal }) => (await ask<{ data: Access }>({ path: "_access", signal })).body.data,
  staleTime: 60_000,
});

// useAccess returns what the reader may do.
export const useAccess = () => useQuery(accessQuery);

export const isLocalized = (type: ContentType) => type.schema.pluginOptions?.i18n?.localized === true;
export const isSingle = (type: ContentType) => type.schema.kind === "singleType";

// pathOf returns the path of a type below that of the API.
export const pathOf = (type: ContentType) => (isSingle(type) ? type.schema.singularName : type.schema.pluralName);

// writtenBy returns the attributes of a type that a write of this action may have.
export function writtenBy(type: ContentType, action: Action | undefined): Record<string, Attribute> {
  return Object.fromEntries(Object.entries(type.schema.attributes).filter(([name]) => action?.fields?.includes(name) ?? true));
}

// isProjects reports whether a type is one of the project, and not one that comes with the server.
export const isProjects = (type: ContentType) => type.uid.startsWith("api::");

// readsDrafts reports whether the reader may read the drafts of a type.
export function readsDrafts(access: Access, type: ContentType): boolean {
  return type.schema.draftAndPublish && (!access.draftsGranted || "findDrafts" in type.actions);
}

// mainAttribute returns the attribute that tells people which document it is; null if there is none that they read.
export function mainAttribute(type: ContentType): string | null {
  const all = Object.entries(type.schema.attributes).filter(([, a]) => a.readable);
  const named = all.find(([name]) => /^(title|name|label|subject|username)$/i.test(name));
  return (named ?? all.find(([, a]) => a.type === "string") ?? all.find(([, a]) => ["uid", "email", "text"].includes(a.type)))?.[0] ?? null;
}
