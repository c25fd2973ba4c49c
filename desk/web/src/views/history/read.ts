// Versions of a document that are looked at beside its form: former ones, the published one, and other languages.
import { useQuery } from "@tanstack/react-query";
import { type Access, type ContentType, isLocalized, isSingle, pathOf } from "../../api/access.ts";
import { ask, Failure, type Request } from "../../api/client.ts";
import type { Query } from "../../api/query.ts";
import type { Definitions } from "../../compare/values.ts";
import { linksAfter } from "../../form/links.ts";
import { labelAttribute, populatesBy, type Types } from "../../form/query.ts";
import { linkOf } from "../../form/server.ts";
import { type Components, isLinkEdit, isMany, isMorph, isValues, type Values } from "../../form/value.ts";

export type Status = "draft" | "published";

// Which names a version: the status is left out for a type without drafts. asOf is a place in the log, or undefined for now.
export interface Which {
  locale: string; // "" if the type is not localized
  status?: Status;
  asOf?: string;
}

// Around is what versions of a document are read and compared with.
export interface Around extends Definitions {
  type: ContentType;
  types: Types;
  documentId: string | null; // null: that of a single type
}

export function aroundOf(access: Access, type: ContentType, documentId: string | null): Around {
  const types = Object.fromEntries(access.contentTypes.map((one) => [one.uid, one]));
  const components: Components = Object.fromEntries(access.components.map((one) => [one.uid, one.schema.attributes]));
  return { type, types, components, documentId, labelIn: (uid) => labelAttribute(types[uid]) };
}

// pathTo returns the path of the document, or of something below it.
export function pathTo({ type, documentId }: Around, below = ""): string {
  return (isSingle(type) ? pathOf(type) : `${pathOf(type)}/${documentId}`) + below;
}

const mostLinks = 2000; // of a relation that leads to more, only their number is compared

// versionRequest returns the request that reads a version. now has the numbers of links that relations have at present.
export function versionRequest(of: Around, which: Which, now: Values = {}): Request {
  const { type, types, components } = of;
  const past = which.asOf !== undefined;
  const populate = populatesBy((a, name, depth) => {
    if (isMorph(a)) return past ? undefined : true; // there may be documents whose history nobody may read here
    const target = types[a.target ?? ""];
    if (!target || !("find" in target.actions) || (past && !("history" in target.actions))) return undefined;
    const present = depth === 0 ? now[name] : undefined;
    const many = isMany(a) && isValues(present) && Number(present.count) > mostLinks;
    return many ? { count: true } : { fields: [labelAttribute(target)] };
  })(type.schema.attributes, components);
  const query: Query = {
    status: which.status,
    locale: isLocalized(type) ? which.locale : undefined,
    asOf: which.asOf,
    populate: populate as Query,
  };
  return { path: pathTo(of), query };
}

// useVersion reads a version; data is null if there is none. What was does not change, so it is read once; stamp says
// when anything else was written last, as far as the reader knows.
export function useVersion(request: Request | null, stamp: unknown) {
  return useQuery({
    queryKey: ["version", request?.path, request?.query, request?.query?.asOf ? null : stamp],
    enabled: request !== null,
    staleTime: request?.query?.asOf ? Infinity : 0,
    queryFn: async ({ signal }) => {
      try {
        return (await ask<{ data: Values | null }>({ ...request!, signal })).body.data;
      } catch (err) {
        if (err instanceof Failure && err.status === 404) return null;
        throw err;
      }
    },
  });
}

// formValues returns what a form holds, with the links that it shows where it has only what is changed. saved is the
// version that the form was opened with, read with its links.
export function formValues(of: Around, saved: Values, form: Values): Values {
  const out: Values = {};
  for (const [name, a] of Object.entries(of.type.schema.attributes)) {
    const value = form[name];
    if (a.type !== "relation" || !isMany(a) || isMorph(a) || Array.isArray(value)) {
      if (name in saved || value !== undefined) out[name] = value ?? null;
      continue;
    }
    const old = saved[name];
    if (!isLinkEdit(value) || !Array.isArray(old)) {
      if (old !== undefined) out[name] = old;
      continue;
    }
    const label = of.labelIn(a.target ?? "");
    const read = (old as Values[]).map((document) => linkOf(document, label));
    out[name] = linksAfter(read, value).map((link) => ({ documentId: link.documentId, [label]: link.label }));
  }
  return out;
}
