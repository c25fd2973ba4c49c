// The server: how it is, and what it has done in the last day.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ask } from "../../api/client.ts";
import { language, t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { Plot } from "./plot.tsx";
import "./server.css";
import { hoursOf, type Noted, perMinute, type Status, statusRequest } from "./status.ts";
import { Table } from "./table.tsx";

const every = 15_000; // milliseconds between looks

const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const when = (text: string | number) => new Date(text).toLocaleString(language);
const count = (value: number) => number.format(value);
const milliseconds = (value: number | null) => (value === null ? "–" : `${value < 10 ? value.toLocaleString(language, { maximumFractionDigits: 2 }) : count(value)} ms`);

function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let left = value;
  while (left >= 1000 && at < units.length - 1) {
    left /= 1000;
    at++;
  }
  return `${count(left)} ${units[at]}`;
}

export default function Server() {
  const { data, error, refetch } = useQuery({
    queryKey: ["status"],
    queryFn: async ({ signal }) => (await ask<{ data: Status }>({ ...statusRequest, signal })).body.data,
    refetchInterval: every,
  });
  if (!data) return error ? <Problem error={error} retry={() => void refetch()} /> : <Waiting />;
  return (
    <section className="column server">
      <header className="row">
        <h1>{t("server.title")}</h1>
        <CopyCurl request={statusRequest} />
      </header>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      <Facts status={data} />
      <Plots status={data} />
      <Hours status={data} />
      <Routes status={data} />
      <NotedRequests title={t("server.slow", { ms: data.slowAfter })} none={t("server.noSlow")} list={data.slow} />
      <NotedRequests title={t("server.failed")} none={t("server.noFailed")} list={data.failed} />
      <Others status={data} />
    </section>
  );
}

function Facts({ status }: { status: Status }) {
  const { condition } = status;
  return (
    <>
      {condition.message && (
        <p className="problem" role="alert">{condition.message} {condition.action}</p>
      )}
      <dl>
        <dt>{t("server.state")}</dt>
        <dd>{condition.state}, {t(`server.mode.${status.mode}`)}{condition.replica && `, ${ageOf(condition.replica)}`}</dd>
        <dt>{t("server.version")}</dt>
        <dd>{status.version || "–"}</dd>
        <dt>{t("server.started")}</dt>
        <dd>{when(status.started)}</dd>
        <dt>{t("server.backup")}</dt>
        <dd>{status.lastBackup === null ? t("server.noBackup") : when(status.lastBackup)}</dd>
        <dt>{t("server.free")}</dt>
        <dd>{status.free === null ? "–" : bytes(status.free)}</dd>
      </dl>
      {status.warnings.length > 0 && (
        <section>
          <h2>{t("server.warnings")}</h2>
          <ul className="column">
            {status.warnings.map((text) => <li key={text} className="notice">{text}</li>)}
          </ul>
        </section>
      )}
    </>
  );
}

function ageOf(replica: { inStep: boolean; age: number | null }): string {
  if (replica.inStep) return t("server.inStep");
  return replica.age === null ? t("server.notYet") : t("server.age", { seconds: replica.age });
}

function Plots({ status: { series } }: { status: Status }) {
  const { times } = series;
  return (
    <div className="plots">
      <Plot title={t("server.perMinute")} times={times} format={count} lines={[{ label: t("server.requests"), values: perMinute(times, series.requests) }]} />
      <Plot
        title={t("server.errorsPerMinute")} times={times} format={count}
        lines={[
          { label: t("server.writes"), values: perMinute(times, series.writes) },
          { label: "4xx", values: perMinute(times, series.clientErrors) },
          { label: "5xx", values: perMinute(times, series.serverErrors) },
        ]}
      />
      <Plot
        title={t("server.latency")} times={times} format={milliseconds}
        lines={[{ label: "p50", values: series.p50 }, { label: "p95", values: series.p95 }, { label: "p99", values: series.p99 }]}
      />
      <Plot title={t("server.memory")} times={times} format={bytes} lines={[{ label: t("server.memory"), values: series.memory }]} />
      <Plot title={t("server.disk")} times={times} format={bytes} lines={[{ label: t("server.disk"), values: series.disk }]} />
    </div>
  );
}

function Hours({ status }: { status: Status }) {
  return (
    <details>
      <summary>{t("server.hours")}</summary>
      <Table
        title={t("server.hours")}
        columns={[
          { title: t("server.hour") },
          ...[t("server.requests"), "4xx", "5xx", t("server.writes"), "p99", t("server.memory"), t("server.disk")].map((title) => ({ title, number: true })),
        ]}
        rows={hoursOf(status.series).map((hour) => ({
          key: String(hour.begins),
          cells: [when(hour.begins * 1000), count(hour.requests), count(hour.clientErrors), count(hour.serverErrors), count(hour.writes), milliseconds(hour.slowest),
            bytes(hour.memory), bytes(hour.disk)],
        }))}
      />
    </details>
  );
}

function Routes({ status }: { status: Status }) {
  return (
    <Part title={t("server.routes", { since: when(status.since) })}>
      <Table
        title={t("server.routes", { since: when(status.since) })}
        columns={[{ title: t("server.route") }, ...[t("server.requests"), "4xx", "5xx", "p50", "p95", "p99"].map((title) => ({ title, number: true }))]}
        rows={status.routes.map((of) => ({
          key: `${of.method} ${of.route}`,
          cells: [`${of.method} ${of.route}`, count(of.requests), count(of.clientErrors), count(of.serverErrors), milliseconds(of.p50), milliseconds(of.p95), milliseconds(of.p99)],
        }))}
      />
    </Part>
  );
}

function NotedRequests({ title, none, list }: { title: string; none: string; list: Noted[] }) {
  return (
    <Part title={title}>
      {list.length === 0 ? <p className="quiet">{none}</p> : (
        <Table
          title={title}
          columns={[{ title: t("server.id") }, { title: t("server.at") }, { title: t("server.route") }, { title: t("server.answer"), number: true }, { title: t("server.took"), number: true },
            { title: t("server.by") }]}
          rows={list.map((of) => ({
            key: `${of.id} ${of.at}`,
            cells: [<code key="id">{of.id}</code>, when(of.at), `${of.method} ${of.route}`, of.status, milliseconds(of.took), [of.principal, of.reason].filter(Boolean).join(", ")],
          }))}
        />
      )}
    </Part>
  );
}

// Others are the servers that this one deals with.
function Others({ status }: { status: Status }) {
  const { cluster, replicas, webhooks } = status;
  return (
    <>
      {cluster && (
        <Part title={t("server.nodes")}>
          <Table
            title={t("server.nodes")}
            columns={[{ title: t("server.name") }, { title: t("server.address") }, { title: t("server.role") }, { title: t("server.behind"), number: true }, { title: t("server.version") }]}
            rows={cluster.nodes.map((node) => ({
              key: node.name,
              cells: [node.name, node.address, t(node.leader ? "server.leader" : node.voter ? "server.voter" : "server.reader"), node.error ? "–" : count(node.behind),
                node.error ?? node.version],
            }))}
          />
        </Part>
      )}
      {replicas.length > 0 && (
        <Part title={t("server.replicas")}>
          <Table
            title={t("server.replicas")}
            columns={[{ title: t("server.address") }, { title: t("server.connected") }, { title: t("server.behind"), number: true }]}
            rows={replicas.map((replica) => ({ key: `${replica.client} ${replica.since}`, cells: [replica.client, when(replica.since), count(replica.behind)] }))}
          />
        </Part>
      )}
      {webhooks.length > 0 && (
        <Part title={t("hooks.title")}>
          <Table
            title={t("hooks.title")}
            columns={[{ title: t("server.name") }, { title: t("hooks.waiting"), number: true }, { title: t("hooks.dead"), number: true }]}
            rows={webhooks.map((hook) => ({ key: hook.name, cells: [hook.name, count(hook.waiting), count(hook.deadLetters)] }))}
          />
        </Part>
      )}
    </>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
