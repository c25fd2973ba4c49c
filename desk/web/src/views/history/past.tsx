// What was done to a document, the newest first, and what each write changed in it.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Button } from "react-aria-components";
import { isLocalized, readsDrafts } from "../../api/access.ts";
import { ask, Failure, type Request } from "../../api/client.ts";
import { counted, adopted, contents, differences } from "../../compare/values.ts";
import { labelOf } from "../../form/field.ts";
import type { Values } from "../../form/value.ts";
import { language, t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { Differences, OnlyCounted } from "./differences.tsx";
import type { LookProps } from "./look.tsx";
import { type Around, formValues, pathTo, type Status, useVersion, type Which, versionRequest } from "./read.ts";

// An Item is what a write did to a version. Its seq, locale and status together are its key.
export interface Item {
  seq: string;
  at: string;
  by: { kind: string; name: string };
  action: "create" | "update" | "delete" | "publish" | "unpublish";
  locale: string | null;
  status: Status;
  changed: string[];
}

interface Page {
  data: Item[];
  meta: { pagination: { page: number; pageCount: number } };
}

const nothing: Page = { data: [], meta: { pagination: { page: 1, pageCount: 0 } } }; // of a document that never was

type PastProps = LookProps & { around: Around };

const keyOf = (item: Item) => `${item.seq} ${item.locale} ${item.status}`;

export function Past(props: PastProps) {
  const { access, around, open, locale } = props;
  const { type } = around;
  const [status, setStatus] = useState<"" | Status>("");
  const [chosen, setChosen] = useState<string | null>(null);
  const requestAt = (page: number): Request => ({
    path: pathTo(around, "/_history"),
    query: { locale: isLocalized(type) ? locale : undefined, status: status || undefined, pagination: { page, pageSize: 20 } },
  });
  const pages = useInfiniteQuery({
    queryKey: ["history", requestAt(1).path, requestAt(1).query, open.base.updatedAt, open.base.publishedAt, open.state === "saving"],
    queryFn: async ({ pageParam, signal }) => {
      try {
        return (await ask<Page>({ ...requestAt(pageParam), signal })).body;
      } catch (err) {
        if (err instanceof Failure && err.status === 404) return nothing;
        throw err;
      }
    },
    initialPageParam: 1,
    getNextPageParam: ({ meta: { pagination } }) => (pagination.page < pagination.pageCount ? pagination.page + 1 : undefined),
    placeholderData: (before) => before,
  });
  const items = pages.data?.pages.flatMap((page) => page.data) ?? [];
  const previousOf = (i: number) => items.slice(i + 1).find((item) => item.locale === items[i]!.locale && item.status === items[i]!.status) ?? null;
  return (
    <>
      <div className="row">
        {readsDrafts(access, type) && (
          <select aria-label={t("list.status")} value={status} onChange={(event) => setStatus(event.target.value as Status)}>
            <option value="">{t("history.both")}</option>
            <option value="draft">{t("list.draft")}</option>
            <option value="published">{t("list.published")}</option>
          </select>
        )}
        <CopyCurl request={requestAt(1)} />
      </div>
      {pages.error && <Problem error={pages.error} retry={() => void pages.refetch()} />}
      {pages.isPending && <Waiting />}
      <ol className="past">
        {items.map((item, i) => {
          const isOpen = chosen === keyOf(item);
          return (
            <li key={keyOf(item)} className={isOpen ? "open" : undefined}>
              <Button className="what" aria-expanded={isOpen} onPress={() => setChosen(isOpen ? null : keyOf(item))}>
                <Headline item={item} hasStatus={type.schema.draftAndPublish} />
              </Button>
              {isOpen && (
                <Write
                  {...props}
                  item={item}
                  previous={previousOf(i)}
                  more={pages.hasNextPage && !pages.isFetching ? () => void pages.fetchNextPage() : null}
                  isKnown={previousOf(i) !== null || item.action === "create" || !pages.hasNextPage}
                />
              )}
            </li>
          );
        })}
      </ol>
      {pages.data && items.length === 0 && <p className="quiet">{t("history.none")}</p>}
      {pages.hasNextPage && (
        <Button className="button" isDisabled={pages.isFetching} onPress={() => void pages.fetchNextPage()}>{t("history.more")}</Button>
      )}
    </>
  );
}

export function nameOf(by: Item["by"]): string {
  if (by.kind === "token") return t("history.byToken", { name: by.name });
  if (by.kind === "user") return by.name || t("history.byUser");
  return by.name || by.kind;
}

function Headline({ item, hasStatus }: { item: Item; hasStatus: boolean }) {
  return (
    <>
      <span><strong>{t(`history.${item.action}`)}</strong> {hasStatus && <span className="sign">{t(item.status === "draft" ? "history.draft" : "list.published")}</span>}</span>
      <span className="quiet">{t("history.byAt", { name: nameOf(item.by), time: new Date(item.at).toLocaleString(language) })}</span>
      {item.changed.length > 0 && <span>{item.changed.map(labelOf).join(", ")}</span>}
    </>
  );
}

interface WriteProps extends PastProps {
  item: Item;
  previous: Item | null; // the write before it to the same version
  more: (() => void) | null; // reads more of the history, where the one before may be
  isKnown: boolean; // false: the one before is perhaps there and not read yet
}

const removes = (item: Item) => item.action === "delete" || item.action === "unpublish";

// Write is what one write changed, or what is different since.
function Write({ around, open, form, item, previous, more, isKnown }: WriteProps) {
  const [since, setSince] = useState(false);
  const [asking, setAsking] = useState(false);
  const drafts = around.type.schema.draftAndPublish;
  const which = (of: Item): Which => ({ asOf: of.seq, locale: of.locale ?? "", status: drafts ? of.status : undefined });
  const shown = removes(item) ? previous : item;
  const request = shown && versionRequest(around, which(shown), open.base);
  const after = useVersion(request, null);
  const hasBefore = previous !== null && !removes(previous) && !removes(item);
  const before = useVersion(!since && hasBefore ? versionRequest(around, which(previous), open.base) : null, null);
  const saved = useVersion(since ? versionRequest(around, { locale: item.locale ?? "", status: drafts ? form.status : undefined }, open.base) : null, open.base.updatedAt);
  useEffect(() => {
    if (!isKnown) more?.();
  }, [isKnown, more === null]);

  const error = after.error ?? before.error ?? saved.error;
  const attributes = around.type.schema.attributes;
  const old: Values | null | undefined = since ? after.data : hasBefore ? before.data : null;
  const now = since ? saved.data && formValues(around, saved.data, open.values) : after.data;
  const isWaiting = !error && (!isKnown || old === undefined || (shown !== null && now === undefined));
  const fields = isWaiting || !now ? [] : old ? differences(attributes, around, old, now) : contents(attributes, around, now);
  const onlyCounted = !isWaiting && old && now ? counted(attributes, old, now) : [];
  const unseen = since || isWaiting || error ? [] : item.changed.filter((name) => attributes[name]?.readable && !fields.some((field) => field.name === name) && !onlyCounted.includes(name));
  const canRestore = "restore" in around.type.actions && !removes(item);
  return (
    <div className="write">
      <div className="row">
        {!removes(item) && (
          <select aria-label={t("history.compare")} value={since ? "since" : "here"} onChange={(event) => setSince(event.target.value === "since")}>
            <option value="here">{t("history.here")}</option>
            <option value="since">{t("history.since")}</option>
          </select>
        )}
        {canRestore && (
          <Button className="button" isDisabled={open.state === "saving"} onPress={() => (open.isDirty ? setAsking(true) : void open.restore(item.seq, item.status))}>
            {t("history.restore")}
          </Button>
        )}
        {request && <CopyCurl request={request} />}
      </div>
      {error && <Problem error={error} />}
      {isWaiting && <Waiting />}
      {removes(item) && <p className="quiet">{t("history.wasRemoved")}</p>}
      {!isWaiting && !error && !removes(item) && !old && item.action !== "create" && previous === null && <p className="quiet">{t("history.unknown")}</p>}
      {!isWaiting && !error && fields.length === 0 && unseen.length === 0 && <p className="quiet">{t(since ? "history.sameAsNow" : "history.noChange")}</p>}
      <div className={old ? undefined : "plain"}>
        <Differences
          fields={fields}
          componentName={form.componentName}
          take={old ? {
            label: t("history.takeOld"),
            mayTake: (name) => !form.isReadOnly && name in form.written,
            onTake: (name) => open.set(name, adopted(attributes[name]!, around.components, old[name])),
          } : undefined}
        />
      </div>
      <OnlyCounted names={onlyCounted} />
      {unseen.length > 0 && <p className="quiet">{t("history.unseen", { names: unseen.map(labelOf).join(", ") })}</p>}
      {asking && (
        <Confirm
          question={t("history.sureRestore")}
          verb={t("history.restore")}
          onYes={() => {
            setAsking(false);
            void open.restore(item.seq, item.status);
          }}
          onNo={() => setAsking(false)}
        />
      )}
    </div>
  );
}
