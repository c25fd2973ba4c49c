// Who changed what and when, of all types: the log of the server, the newest entry first.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useId } from "react";
import { Button } from "react-aria-components";
import type { Access } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import { go, type Place } from "../../place.ts";
import { type Key, language, t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import "./audit.css";

interface Change {
  type: string;
  documentId: string;
  locale: string | null;
  status: string | null;
  action: string;
}

interface Entry {
  seq: number;
  at: string;
  by: { kind: string; name: string | null };
  kind: string;
  changes: Change[];
}

interface Page {
  data: Entry[];
  meta: { next: number | null };
}

// mostChanges is how many versions of an entry are named; an import may change thousands at once.
const mostChanges = 20;

export default function Audit({ access, place }: { access: Access; place: Place }) {
  const id = useId();
  const filter = { type: place.query.get("type") ?? "", by: place.query.get("by") ?? "", document: place.query.get("document") ?? "" };
  const request = (before?: number): Request => ({
    path: "_audit",
    query: { ...Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== "")), before },
  });
  const pages = useInfiniteQuery({
    queryKey: ["audit", filter],
    queryFn: async ({ pageParam, signal }) => (await ask<Page>({ ...request(pageParam), signal })).body,
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ meta }) => meta.next ?? undefined,
  });
  const set = (name: string, value: string) => {
    const query = new URLSearchParams(place.query);
    if (value) query.set(name, value);
    else query.delete(name);
    go(place.path, query, true);
  };
  const entries = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <section className="audit" aria-labelledby={`${id}-title`}>
      <div className="row">
        <h1 id={`${id}-title`}>{t("audit.title")}</h1>
        <CopyCurl request={request()} />
      </div>
      <form
        className="row"
        key={place.query.toString()}
        onSubmit={(event) => {
          event.preventDefault();
          set("by", String(new FormData(event.currentTarget).get("by")).trim());
        }}
      >
        <label>
          {t("audit.type")}{" "}
          <select value={filter.type} onChange={(event) => set("type", event.target.value)}>
            <option value="">{t("audit.all")}</option>
            {access.contentTypes.map(({ uid, schema }) => <option key={uid} value={uid}>{schema.displayName}</option>)}
          </select>
        </label>
        <label>
          {t("audit.by")} <input name="by" className="input" defaultValue={filter.by} placeholder="user:ann" />
        </label>
        <Button type="submit" className="button">{t("audit.show")}</Button>
        {filter.document !== "" && (
          <Button className="button" onPress={() => set("document", "")}>{t("audit.allDocuments")}</Button>
        )}
      </form>
      {pages.error && <Problem error={pages.error} retry={() => void pages.refetch()} />}
      {pages.isPending && <Waiting />}
      {pages.data && entries.length === 0 && !pages.hasNextPage && <p className="quiet">{t("audit.none")}</p>}
      <ol>
        {entries.map((entry) => (
          <li key={entry.seq}>
            <p>
              <time dateTime={entry.at}>{time.format(new Date(entry.at))}</time>{" "}
              <strong>{entry.by.name ? `${entry.by.kind} ${entry.by.name}` : entry.by.kind}</strong>{" "}
              {entry.kind !== "changes" && t(`audit.${entry.kind}` as Key)}
            </p>
            <Changes access={access} changes={entry.changes} onDocument={(document) => set("document", document)} />
          </li>
        ))}
      </ol>
      {pages.hasNextPage && (
        <Button className="button" isDisabled={pages.isFetching} onPress={() => void pages.fetchNextPage()}>{t("history.more")}</Button>
      )}
    </section>
  );
}

const time = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });

interface ChangesProps {
  access: Access;
  changes: Change[];
  onDocument: (documentId: string) => void;
}

function Changes({ access, changes, onDocument }: ChangesProps) {
  return (
    <ul>
      {changes.slice(0, mostChanges).map((change, index) => {
        const type = access.contentTypes.find(({ uid }) => uid === change.type);
        const version = [change.locale, change.status].filter(Boolean).join(", ");
        return (
          <li key={index}>
            {change.action} {type ? <PlaceLink to={["content", type.apiID]}>{type.schema.displayName}</PlaceLink> : change.type}{" "}
            <Button className="link" onPress={() => onDocument(change.documentId)}>{change.documentId}</Button>
            {version && ` (${version})`}
          </li>
        );
      })}
      {changes.length > mostChanges && <li className="quiet">{t("audit.moreChanges", { n: changes.length - mostChanges })}</li>}
    </ul>
  );
}
