// What GET /api/_status says, and what the view shows of it.
import type { Request } from "../../api/client.ts";

export const statusRequest: Request = { path: "_status" };

type Numbers = (number | null)[];

export interface Series {
  times: number[];
  requests: number[];
  clientErrors: number[];
  serverErrors: number[];
  writes: number[];
  p50: Numbers;
  p95: Numbers;
  p99: Numbers;
  memory: number[];
  disk: number[];
  free: Numbers;
}

export interface Route {
  route: string;
  method: string;
  requests: number;
  clientErrors: number;
  serverErrors: number;
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

export interface Noted {
  id: string;
  at: string;
  method: string;
  route: string;
  status: number;
  took: number;
  principal?: string;
  reason?: string;
}

export interface ServerNode {
  name: string;
  address: string;
  voter: boolean;
  leader: boolean;
  error?: string;
  version?: string;
  behind: number;
}

export interface Status {
  version: string;
  started: string;
  mode: "single" | "replica" | "node";
  condition: { state: string; message?: string; action?: string; replica?: { inStep: boolean; age: number | null } };
  memory: number;
  disk: number;
  free: number | null;
  series: Series;
  since: string;
  routes: Route[];
  slowAfter: number;
  slow: Noted[];
  failed: Noted[];
  lastBackup: string | null;
  warnings: string[];
  webhooks: { name: string; waiting: number; deadLetters: number; down: boolean; stopped?: string }[];
  replicas: { client: string; since: string; part?: boolean; behind: number }[];
  cluster: { node: string; leader: string; nodes: ServerNode[] } | null;
}

// perMinute returns a column of what happened since the sample before as rates. A last sample of few seconds says
// nothing.
export function perMinute(times: number[], column: number[]): Numbers {
  return column.map((n, i) => {
    const before = times[i - 1];
    const took = before === undefined ? 0 : (times[i] ?? 0) - before;
    return took < 10 ? null : (n * 60) / took;
  });
}

export interface Hour {
  begins: number; // Unix seconds
  requests: number;
  clientErrors: number;
  serverErrors: number;
  writes: number;
  slowest: number | null; // the worst p99
  memory: number;
  disk: number;
}

// hoursOf returns what happened by hours, the last one first.
export function hoursOf(s: Series): Hour[] {
  const hours = new Map<number, Hour>();
  s.times.forEach((time, i) => {
    const begins = time - (time % 3600);
    const hour = hours.get(begins) ?? { begins, requests: 0, clientErrors: 0, serverErrors: 0, writes: 0, slowest: null, memory: 0, disk: 0 };
    hours.set(begins, hour);
    hour.requests += s.requests[i] ?? 0;
    hour.clientErrors += s.clientErrors[i] ?? 0;
    hour.serverErrors += s.serverErrors[i] ?? 0;
    hour.writes += s.writes[i] ?? 0;
    const p99 = s.p99[i] ?? null;
    if (p99 !== null) hour.slowest = Math.max(hour.slowest ?? 0, p99);
    hour.memory = Math.max(hour.memory, s.memory[i] ?? 0);
    hour.disk = Math.max(hour.disk, s.disk[i] ?? 0);
  });
  return [...hours.values()].reverse();
}
