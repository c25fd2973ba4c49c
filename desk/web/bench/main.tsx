// A page with nothing but the form of one document, for tests of its fields. The tests serve it beside the API:
// #token=…&type=api::place.place&id=…
import { useCallback, useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { type Access, pathOf } from "../src/api/access.ts";
import { ask } from "../src/api/client.ts";
import type { Json } from "../src/api/json.ts";
import type { Query } from "../src/api/query.ts";
import { session } from "../src/api/session.ts";
import "../src/desk.css";
import { formOf } from "../src/form/context.ts";
import { errorsAt } from "../src/form/errors.ts";
import { type Change, changed } from "../src/form/field.ts";
import { DocumentForm } from "../src/form/form.tsx";
import { populateOf } from "../src/form/query.ts";
import { bodyOf, defaults, type Values } from "../src/form/value.ts";
import { language } from "../src/text/text.ts";
import "./bench.css";

const params = new URLSearchParams(location.hash.slice(1));
session.token = () => Promise.resolve(params.get("token"));
session.renew = () => Promise.resolve(null);

function Bench({ access }: { access: Access }) {
  const type = access.contentTypes.find((one) => one.uid === params.get("type"))!;
  const [id, setId] = useState(params.get("id"));
  const [saved, setSaved] = useState<Values | null>(null);
  const [values, setValues] = useState<Values | null>(id ? null : () => defaults(type.schema.attributes));
  const [errors, setErrors] = useState(new Map<string, string[]>());
  const [state, setState] = useState("");
  const [saves, setSaves] = useState(0);
  const form = useMemo(
    () => formOf(access, type, { documentId: id, locale: null, status: "draft" }, params.has("readonly")),
    [id],
  );
  const { components } = form;
  const version: Query = type.schema.draftAndPublish ? { status: "draft" } : {};
  const read = async (documentId: string) => {
    const query = { ...version, populate: populateOf(type.schema.attributes, components, form.server.types) as Query };
    const answer = (await ask<{ data: Values }>({ path: `${pathOf(type)}/${documentId}`, query })).body;
    performance.mark("read");
    setSaved(answer.data);
    setValues(answer.data);
  };
  useEffect(() => {
    if (id) void read(id);
  }, []);
  const set = useCallback(
    (name: string, change: Change) => setValues((old) => ({ ...old, [name]: changed(change, old?.[name]) })),
    [],
  );
  const save = async () => {
    setState("saving");
    setSaves((n) => n + 1);
    const data = bodyOf(type.schema.attributes, components, saved, values!);
    Object.assign(window, { sent: data });
    try {
      const path = id ? `${pathOf(type)}/${id}` : pathOf(type);
      const request = { method: id ? "PUT" : "POST", path, query: version, body: { data: data as Json } };
      const answer = (await ask<{ data: Values }>(request)).body;
      setErrors(new Map());
      setId(String(answer.data.documentId));
      await read(String(answer.data.documentId));
      setState("saved");
    } catch (error) {
      setErrors(errorsAt(error));
      setState("refused");
    }
  };
  Object.assign(window, { values, reread: read });
  useEffect(() => {
    if (values) requestAnimationFrame(() => performance.mark("shown"));
  }, [values === null]);
  if (!values) return null;
  return (
    <>
      <h1>{type.schema.displayName}</h1>
      {errors.get("")?.map((message) => (
        <p key={message}>{message}</p>
      ))}
      <DocumentForm form={form} values={values} errors={errors} onChange={set} />
      <button type="button" onClick={() => void save()}>
        Save
      </button>
      <output data-id={id ?? undefined} data-saves={saves}>{state}</output>
    </>
  );
}

document.documentElement.lang = language;
const access = (await ask<{ data: Access }>({ path: "_access" })).body.data;
createRoot(document.getElementById("desk")!).render(<Bench access={access} />);
