// How to read and write a type over REST and GraphQL, with requests that work as they are.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "react-aria-components";
import { type Access, type ContentType, isSingle, pathOf, readsDrafts } from "../../api/access.ts";
import { api, ask, curlOf, type Request } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { type Document, type GraphQL, graphQLOf, type Known, type Operation, operationsOf, prefixOf, requestOf } from "./examples.ts";

interface ReferenceProps {
  access: Access;
  type: ContentType;
}

const described: Request = { path: "_openapi.json" };

export function Reference({ access, type }: ReferenceProps) {
  const openAPI = useQuery({
    queryKey: ["openapi"],
    queryFn: async ({ signal }) => (await ask<Document>({ ...described, signal })).body,
    staleTime: 60_000,
  });
  const known = useQuery({ queryKey: ["examples", type.uid], queryFn: () => knownOf(access, type), staleTime: Infinity });
  const error = openAPI.error ?? known.error;
  if (error) return <Problem error={error} retry={() => void Promise.all([openAPI.refetch(), known.refetch()])} />;
  if (!openAPI.data || !known.data) return <Waiting />;
  const prefix = prefixOf(openAPI.data);
  const operations = operationsOf(openAPI.data, type);
  const graphQL = graphQLOf(access, type, operations, known.data);
  const root = api.pathname.slice(0, -prefix.length - 1); // what a proxy has put before the paths of the server
  const endpoint = new URL(root + (access.graphql ?? ""), api).href;
  return (
    <>
      <header className="row">
        <h2>REST</h2>
        <CopyCurl request={described} />
      </header>
      <p>{t("types.token")}</p>
      {operations.map((operation) => (
        <OneOperation key={operation.id} operation={operation} request={requestOf(access, type, operation, prefix, known.data)} />
      ))}
      {operations.length === 0 && <p className="quiet">{t("types.noOperations")}</p>}
      {(graphQL.query || graphQL.mutation) && <h2>GraphQL</h2>}
      {graphQL.query && <OneGraphQL title={t("types.query")} endpoint={endpoint} request={graphQL.query} />}
      {graphQL.mutation && <OneGraphQL title={t("types.mutation")} endpoint={endpoint} request={graphQL.mutation} />}
    </>
  );
}

// knownOf finds a document that the examples can be about.
async function knownOf(access: Access, type: ContentType): Promise<Known> {
  const known: Known = { documentId: "DOCUMENT_ID", seq: null, suffix: Math.random().toString(36).slice(2, 8) };
  const query = { fields: ["documentId"], pagination: { pageSize: 1 }, ...(readsDrafts(access, type) ? { status: "draft" } : {}) };
  if (!isSingle(type) && "find" in type.actions) {
    const { body } = await ask<{ data: { documentId: string }[] }>({ path: pathOf(type), query });
    known.documentId = body.data[0]?.documentId ?? known.documentId;
  }
  if ("restore" in type.actions && "history" in type.actions && (isSingle(type) || known.documentId !== "DOCUMENT_ID")) {
    const of = isSingle(type) ? pathOf(type) : `${pathOf(type)}/${known.documentId}`;
    const { body } = await ask<{ data: { seq: string }[] }>({ path: `${of}/_history`, query: { pagination: { pageSize: 1 } } });
    known.seq = body.data[0]?.seq ?? null;
  }
  return known;
}

function OneOperation({ operation, request }: { operation: Operation; request: Request }) {
  return (
    <article className="operation">
      <h3>
        <span className="badge">{operation.method}</span> <code>{operation.path}</code>
      </h3>
      <p>{operation.summary}</p>
      <Command text={curlOf(request)} label={t("types.copyOf", { name: operation.summary })} />
      {operation.parameters.length > 0 && (
        <details>
          <summary>{t("types.parameters")}</summary>
          <dl className="parameters">
            {operation.parameters.map((parameter) => (
              <div key={`${parameter.in} ${parameter.name}`}>
                <dt>
                  <code>{parameter.name}</code> <span className="quiet">{parameter.in}</span>
                </dt>
                <dd>
                  <Description text={parameter.description ?? ""} />
                  {parameter.schema?.enum && <span className="quiet"> {parameter.schema.enum.map(String).join(" | ")}</span>}
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      {request.body !== undefined && (
        <details>
          <summary>{t("types.body")}</summary>
          <pre>{pretty(request.body)}</pre>
        </details>
      )}
      <details>
        <summary>{t("types.answer", { status: operation.status })}</summary>
        <pre>{operation.answer === undefined ? t("types.noAnswer") : pretty(operation.answer)}</pre>
      </details>
    </article>
  );
}

function OneGraphQL({ title, endpoint, request }: { title: string; endpoint: string; request: GraphQL }) {
  return (
    <article className="operation">
      <h3>{title}</h3>
      <pre>{request.query}</pre>
      {Object.keys(request.variables).length > 0 && (
        <details>
          <summary>{t("types.variables")}</summary>
          <pre>{pretty(request.variables)}</pre>
        </details>
      )}
      <Command text={curlOf({ method: "POST", path: endpoint, body: { ...request } })} label={t("types.copyOf", { name: title })} />
    </article>
  );
}

// Description shows a text whose code is between backticks.
const Description = ({ text }: { text: string }) =>
  text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));

const pretty = (value: Json) => JSON.stringify(value, null, 2);

// Command shows a command for a shell, and copies it.
function Command({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
  };
  return (
    <div className="command">
      <pre className="curl">{text}</pre>
      <Button className="button" aria-label={done ? undefined : label} onPress={() => void copy()} onBlur={() => setDone(false)}>
        {t(done ? "app.copied" : "types.copy")}
      </Button>
    </div>
  );
}
