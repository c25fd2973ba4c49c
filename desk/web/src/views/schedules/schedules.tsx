// What is to be published and taken off later: listed and cancelled.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "react-aria-components";
import { type Access, isSingle, mainAttribute, pathOf, readsDrafts } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import { go } from "../../place.ts";
import { language, t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { messageOf, Problem, Waiting } from "../../ui/states.tsx";
import type { AreaProps } from "../areas.ts";
import "../webhooks/webhooks.css";

interface Schedule {
  documentId: string;
  action: "publish" | "unpublish";
  at: string;
  contentType: string;
  document: string;
  documentLocale: string | null;
  state: "pending" | "failed";
  error: { message?: string } | null;
  principalName?: string | null;
}

interface Page {
  data: Schedule[];
  meta: { pagination: { page: number; pageCount: number } };
}

type State = "" | "pending" | "failed";

export default function Schedules({ access, place }: AreaProps) {
  const queries = useQueryClient();
  const [leaving, setLeaving] = useState<Schedule | null>(null);
  const [said, setSaid] = useState<{ text: string; failed: boolean } | null>(null);
  const state = (place.query.get("state") ?? "") as State;
  const page = Number(place.query.get("page") ?? 1);
  const request: Request = {
    path: "_schedules",
    query: { sort: "at", pagination: { page, pageSize: 50 }, ...(state ? { filters: { state } } : {}) },
  };
  const { data, error, refetch } = useQuery({
    queryKey: ["schedules", state, page],
    queryFn: async ({ signal }) => (await ask<Page>({ ...request, signal })).body,
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });
  const { data: names = {} } = useQuery({
    queryKey: ["schedules", "names", data?.data.map((schedule) => schedule.document)],
    queryFn: () => namesOf(access, data?.data ?? []),
    enabled: data !== undefined,
    placeholderData: keepPreviousData,
  });
  const show = (query: Record<string, string>) => go(["schedules"], new URLSearchParams(query), true);
  const nameOf = (schedule: Schedule) => names[schedule.document] ?? schedule.document;

  const cancel = async (schedule: Schedule) => {
    setLeaving(null);
    try {
      await ask({ method: "DELETE", path: `_schedules/${schedule.documentId}` });
      setSaid({ text: t("schedules.cancelled"), failed: false });
    } catch (err) {
      setSaid({ text: messageOf(err), failed: true });
    }
    void queries.invalidateQueries({ queryKey: ["schedules"] });
  };

  return (
    <section className="column">
      <header className="row">
        <h1>{t("schedules.title")}</h1>
        <label>
          {t("schedules.show")}{" "}
          <select value={state} onChange={(event) => show(event.target.value ? { state: event.target.value } : {})}>
            <option value="">{t("schedules.both")}</option>
            <option value="pending">{t("schedules.pending")}</option>
            <option value="failed">{t("schedules.failed")}</option>
          </select>
        </label>
        <CopyCurl request={request} />
      </header>
      <p role="status" className={said?.failed ? "problem" : "said"}>{said?.text}</p>
      {error && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Waiting />}
      {data?.data.length === 0 && <p className="quiet">{t("schedules.none")}</p>}
      <ul className="events">
        {data?.data.map((schedule) => {
          const type = access.contentTypes.find((candidate) => candidate.uid === schedule.contentType);
          const query = schedule.documentLocale === null ? undefined : new URLSearchParams({ locale: schedule.documentLocale });
          return (
            <li key={schedule.documentId}>
              <span className="of">
                <strong>{t(`schedules.${schedule.action}`)}</strong>{" "}
                {type && "find" in type.actions
                  ? (
                    <PlaceLink to={["content", type.apiID, ...(isSingle(type) ? [] : [schedule.document])]} query={query}>
                      {nameOf(schedule)}
                    </PlaceLink>
                  )
                  : nameOf(schedule)}{" "}
                <span className="quiet">
                  {type?.schema.displayName ?? schedule.contentType}
                  {schedule.documentLocale !== null && ` (${schedule.documentLocale})`}
                </span>
              </span>
              <time dateTime={schedule.at}>{timeOf(schedule.at)}</time>
              <span className={`badge ${schedule.state}`}>{t(`schedules.${schedule.state}`)}</span>
              {schedule.principalName && <span className="quiet">{t("schedules.by", { name: schedule.principalName })}</span>}
              <Button
                className="button"
                aria-label={t("schedules.cancelOf", { action: t(`schedules.${schedule.action}`), document: nameOf(schedule) })}
                onPress={() => setLeaving(schedule)}
              >
                {t("schedules.cancel")}
              </Button>
              {schedule.error?.message && <span className="why">{schedule.error.message}</span>}
            </li>
          );
        })}
      </ul>
      {data && data.meta.pagination.pageCount > 1 && (
        <div className="row">
          <Button className="button" isDisabled={page <= 1} onPress={() => show({ ...(state ? { state } : {}), page: String(page - 1) })}>
            {t("schedules.less")}
          </Button>
          <Button
            className="button"
            isDisabled={page >= data.meta.pagination.pageCount}
            onPress={() => show({ ...(state ? { state } : {}), page: String(page + 1) })}
          >
            {t("schedules.more")}
          </Button>
        </div>
      )}
      {leaving && (
        <Confirm
          question={t("schedules.sure", { action: t(`schedules.${leaving.action}`), document: nameOf(leaving), time: timeOf(leaving.at) })}
          verb={t("schedules.cancel")}
          onNo={() => setLeaving(null)}
          onYes={() => void cancel(leaving)}
        />
      )}
    </section>
  );
}

// namesOf returns what the documents of schedules are called, by documentId, as far as the reader may read them.
async function namesOf(access: Access, schedules: Schedule[]): Promise<Record<string, string>> {
  const names: Record<string, string> = {};
  const asked = access.contentTypes.map(async (type) => {
    const ids = [...new Set(schedules.filter((one) => one.contentType === type.uid).map((one) => one.document))];
    const main = mainAttribute(type);
    if (ids.length === 0 || main === null || !("find" in type.actions) || isSingle(type)) return;
    const query = {
      filters: { documentId: { $in: ids } }, fields: [main], pagination: { pageSize: ids.length },
      ...(readsDrafts(access, type) ? { status: "draft" } : {}),
    };
    const { body } = await ask<{ data: Record<string, unknown>[] }>({ path: pathOf(type), query });
    for (const found of body.data) if (typeof found[main] === "string") names[String(found.documentId)] = found[main];
  });
  await Promise.allSettled(asked);
  return names;
}

const timeOf = (at: string) => new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
