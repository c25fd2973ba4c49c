// One webhook: its attempts, and what can be sent again.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Button } from "react-aria-components";
import type { Access } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import { language, t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { messageOf, Problem, Waiting } from "../../ui/states.tsx";
import { type Deliveries, deliveriesOf, type Event, type Replayed, replayOf, type Tested, testOf, type Webhook } from "./api.ts";
import { Facts, State } from "./facts.tsx";

interface DetailProps {
  access: Access;
  hook: Webhook;
}

export function Detail({ access, hook }: DetailProps) {
  const queries = useQueryClient();
  const [said, setSaid] = useState<{ text: string; failed: boolean } | null>(null);
  const [busy, setBusy] = useState(false);
  const [since, setSince] = useState("");
  const [sure, setSure] = useState(false);
  const request = deliveriesOf(hook.name);
  const { data, error, refetch } = useQuery({
    queryKey: ["webhooks", hook.name],
    queryFn: async ({ signal }) => (await ask<{ data: Deliveries }>({ ...request, signal })).body.data,
    refetchInterval: 2000,
  });
  const mayReplay = access.permissions.includes("lectern::webhook.replay");

  const run = async <T,>(what: Request, tell: (answer: T) => { text: string; failed: boolean }) => {
    setBusy(true);
    setSaid(null);
    try {
      const { data } = (await ask<{ data: T }>(what)).body;
      setSaid(tell(data));
    } catch (err) {
      setSaid({ text: messageOf(err), failed: true });
    } finally {
      setBusy(false);
      void queries.invalidateQueries({ queryKey: ["webhooks"] });
    }
  };
  const test = () => run<Tested>(testOf(hook.name), (tested) => tested.error === null
    ? { text: t("hooks.tested", { status: String(tested.answered), ms: tested.duration }), failed: false }
    : { text: t("hooks.testFailed", { error: tested.error }), failed: true });
  const replay = (what: { since?: string; id?: string }) => run<Replayed>(replayOf(hook.name, what), (replayed) => ({
    text: replayed.events !== undefined
      ? t("hooks.resent")
      : t("hooks.replayed", { dead: replayed.deadLetters ?? 0, entries: replayed.entries ?? 0 }) + (replayed.missing ? ` ${t("hooks.missing")}` : ""),
    failed: false,
  }));
  const again = (event: Event) => mayReplay && hook.state !== "disabled" && event.contentType !== null && (
    <Button
      className="button"
      isDisabled={busy}
      aria-label={t("hooks.againOf", { event: event.event, id: event.documentId ?? "" })}
      onPress={() => void replay({ id: event.id })}
    >
      {t("hooks.again")}
    </Button>
  );

  return (
    <section className="column">
      <header className="row">
        <h1>{hook.name}</h1>
        <PlaceLink to={["webhooks"]}>{t("hooks.back")}</PlaceLink>
        <CopyCurl request={request} />
      </header>
      <State hook={hook} />
      <Facts hook={hook} />
      {mayReplay && (
        <div className="row tools">
          <Button className="button" isDisabled={busy} onPress={() => void test()}>{t("hooks.test")}</Button>
          {hook.state !== "disabled" && (
            <>
              <Button className="button" isDisabled={busy || (hook.dead === 0 && hook.state !== "stopped")} onPress={() => void replay({})}>
                {t("hooks.replayDead")}
              </Button>
              <label>
                {t("hooks.since")} <input type="datetime-local" value={since} onChange={(event) => setSince(event.target.value)} />
              </label>
              <Button className="button" isDisabled={busy || since === ""} onPress={() => setSure(true)}>{t("hooks.replaySince")}</Button>
            </>
          )}
        </div>
      )}
      <p role="status" className={said?.failed ? "problem" : "said"}>{said?.text}</p>
      {error && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Waiting />}
      {data && (
        <>
          <Events title={t("hooks.attempts")} empty={t("hooks.noAttempts")}>
            {data.attempts.map((a) => (
              <li key={`${a.id} ${a.at}`}>
                <Of access={access} event={a} />
                <span className={`badge ${a.state}`}>{t(`hooks.attempt.${a.state}`)}</span>
                <span className="quiet">
                  {t("hooks.detail", { time: timeOf(a.at), n: a.attempt, answer: a.answered === null ? t("hooks.noAnswer") : String(a.answered), ms: a.duration })}
                </span>
                {again(a)}
                {a.error && <span className="why">{a.error}</span>}
              </li>
            ))}
          </Events>
          {data.pending.length > 0 && (
            <Events title={t("hooks.pending")}>
              {data.pending.map((p) => (
                <li key={p.id}>
                  <Of access={access} event={p} />
                  <span className="quiet">
                    {t("hooks.next", { n: p.attempts, time: p.nextAt === null ? t("hooks.soon") : timeOf(p.nextAt), later: p.later })}
                  </span>
                  {again(p)}
                  {p.error && <span className="why">{p.error}</span>}
                </li>
              ))}
            </Events>
          )}
          {data.dead.length > 0 && (
            <Events title={t("hooks.dead")}>
              {data.dead.map((d) => (
                <li key={d.id}>
                  <Of access={access} event={d} />
                  <span className="quiet">{t("hooks.givenUp", { n: d.attempts, time: timeOf(d.givenUpAt) })}</span>
                  {again(d)}
                  {d.error && <span className="why">{d.error}</span>}
                </li>
              ))}
            </Events>
          )}
        </>
      )}
      {sure && (
        <Confirm
          question={t("hooks.sureSince", { time: new Date(since).toLocaleString(language) })}
          verb={t("hooks.replaySince")}
          onNo={() => setSure(false)}
          onYes={() => {
            setSure(false);
            void replay({ since: new Date(since).toISOString() });
          }}
        />
      )}
    </section>
  );
}

function Events({ title, empty = "", children }: { title: string; empty?: string; children: ReactNode[] }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children.length === 0 ? <p className="quiet">{empty}</p> : <ul className="events">{children}</ul>}
    </section>
  );
}

// Of names an event and its document, with a link to it if the reader may see it.
function Of({ access, event }: { access: Access; event: Event }) {
  const type = access.contentTypes.find((candidate) => candidate.uid === event.contentType && "find" in candidate.actions);
  const query = event.locale === null ? undefined : new URLSearchParams({ locale: event.locale });
  return (
    <span className="of">
      <strong>{event.event}</strong>{" "}
      {type?.uid.startsWith("api::") && event.documentId !== null
        ? <PlaceLink to={["content", type.apiID, event.documentId]} query={query}>{type.schema.displayName} {event.documentId}</PlaceLink>
        : [event.contentType, event.documentId].filter((text) => text !== null).join(" ")}
      {event.locale !== null && ` (${event.locale})`}
    </span>
  );
}

const timeOf = (at: string) => new Date(at).toLocaleString(language, { dateStyle: "short", timeStyle: "medium" });
