// A page with nothing but the form of one document, for tests of its fields. The tests serve it beside the API:
// #token=…&type=api::place.place&id=…
import { useCallback, useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { type Change, changed, type FormContext, labelOf } from "../src/form/field.ts";
import { DocumentForm } from "../src/form/form.tsx";
import { parseExact } from "../src/form/exact.ts";
import { type ContentType, populateOf, toQuery, type Types } from "../src/form/query.ts";
import { type Request, Server } from "../src/form/server.ts";
import { bodyOf, type Components, defaults, errorsAt, isValues, type Values } from "../src/form/value.ts";
import "./bench.css";

const params = new URLSearchParams(location.hash.slice(1));
const token = params.get("token") ?? "";

const request: Request = (method, path, body, options) =>
  new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    call.open(method, path.startsWith("/graphql") ? path : `/api${path}`);
    call.setRequestHeader("Authorization", `Bearer ${token}`);
    if (body && !(body instanceof FormData)) call.setRequestHeader("Content-Type", "application/json");
    call.upload.onprogress = (event) => options?.onProgress?.(event.loaded / event.total);
    options?.signal?.addEventListener("abort", () => call.abort());
    call.onabort = call.onerror = () => reject(new Error("no answer"));
    call.onload = () => {
      const answer = call.responseText ? parseExact(call.responseText) : null;
      if (call.status < 400) return resolve(answer);
      const error = isValues(answer) && isValues(answer.error) ? answer.error : { message: call.statusText };
      reject(Object.assign(new Error(String(error.message)), { details: error.details, status: call.status }));
    };
    call.send(body instanceof FormData ? body : body ? JSON.stringify(body) : null);
  });

interface Definitions {
  types: Types;
  components: Components;
  names: Record<string, string>;
}

interface Built {
  uid: string;
  schema: {
    attributes: ContentType["attributes"];
    displayName: string;
    singularName: string;
    pluralName: string;
    kind: string;
    draftAndPublish: boolean;
    pluginOptions?: { i18n?: object };
  };
}

async function definitions(): Promise<Definitions> {
  const list = async (path: string) => ((await request("GET", path)) as { data: Built[] }).data;
  const types = (await list("/content-type-builder/content-types")).map(({ uid, schema }): ContentType => ({
    uid,
    name: schema.displayName,
    singularName: schema.singularName,
    pluralName: schema.pluralName,
    isSingle: schema.kind === "singleType",
    hasDrafts: schema.draftAndPublish,
    isLocalized: Boolean(schema.pluginOptions?.i18n),
    attributes: schema.attributes,
    may: { find: uid.startsWith("api::"), create: uid.startsWith("api::"), update: uid.startsWith("api::") },
  }));
  const components = await list("/content-type-builder/components");
  return {
    types: Object.fromEntries(types.map((type) => [type.uid, type])),
    components: Object.fromEntries(components.map(({ uid, schema }) => [uid, schema.attributes])),
    names: Object.fromEntries(components.map(({ uid, schema }) => [uid, schema.displayName])),
  };
}

function Bench({ types, components, names }: Definitions) {
  const type = types[params.get("type") ?? ""]!;
  const [id, setId] = useState(params.get("id"));
  const [saved, setSaved] = useState<Values | null>(null);
  const [values, setValues] = useState<Values | null>(id ? null : () => defaults(type.attributes));
  const [errors, setErrors] = useState(new Map<string, string[]>());
  const [state, setState] = useState("");
  const read = async (documentId: string) => {
    const query = toQuery({
      ...(type.hasDrafts ? { status: "draft" } : {}),
      populate: populateOf(type.attributes, components, types),
    });
    const answer = (await request("GET", `/${type.pluralName}/${documentId}?${query}`)) as { data: Values };
    performance.mark("read");
    setSaved(answer.data);
    setValues(answer.data);
  };
  useEffect(() => {
    if (id) void read(id);
  }, []);
  const form = useMemo(
    (): FormContext => ({
      uid: type.uid,
      documentId: id,
      locale: null,
      status: "draft",
      attributes: type.attributes,
      components,
      componentName: (uid) => names[uid] ?? labelOf(uid),
      isReadOnly: params.has("readonly"),
      server: new Server(request, types),
      hrefOf: (uid, documentId) => `#type=${uid}&id=${documentId}`,
      fileURL: (url) => url,
    }),
    [id],
  );
  const set = useCallback(
    (name: string, change: Change) => setValues((old) => ({ ...old, [name]: changed(change, old?.[name]) })),
    [],
  );
  const save = async () => {
    setState("saving");
    const data = bodyOf(type.attributes, components, saved, values!);
    Object.assign(window, { sent: data });
    try {
      const query = type.hasDrafts ? "?status=draft" : "";
      const path = id ? `/${type.pluralName}/${id}${query}` : `/${type.pluralName}${query}`;
      const answer = (await request(id ? "PUT" : "POST", path, { data })) as { data: Values };
      setErrors(new Map());
      setId(String(answer.data.documentId));
      await read(String(answer.data.documentId));
      setState("saved");
    } catch (error) {
      const details = (error as { details?: { errors?: [] } }).details?.errors;
      setErrors(details ? errorsAt(details) : new Map([["", [(error as Error).message]]]));
      setState("refused");
    }
  };
  Object.assign(window, { values });
  useEffect(() => {
    if (values) requestAnimationFrame(() => performance.mark("shown"));
  }, [values === null]);
  if (!values) return null;
  return (
    <>
      <h1>{type.name}</h1>
      {errors.get("")?.map((message) => (
        <p key={message}>{message}</p>
      ))}
      <DocumentForm form={form} values={values} errors={errors} onChange={set} />
      <button type="button" onClick={() => void save()}>
        Save
      </button>
      <output data-id={id ?? undefined}>{state}</output>
    </>
  );
}

const found = await definitions();
performance.mark("definitions");
createRoot(document.getElementById("root")!).render(<Bench {...found} />);
