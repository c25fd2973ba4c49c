import { expect, test } from "vitest";
import { hoursOf, perMinute } from "./status.ts";

test("rates are those of a minute, and short samples have none", () => {
  expect(perMinute([0, 60, 180, 185], [0, 30, 30, 9])).toEqual([null, 30, 15, null]);
});

test("hours add up their samples", () => {
  const times = [3540, 3600, 7199, 7200];
  const same = (n: number) => times.map(() => n);
  const hours = hoursOf({
    times, requests: [1, 2, 3, 4], clientErrors: same(0), serverErrors: same(1), writes: same(2),
    p50: same(1), p95: same(1), p99: [null, 5, 2, null], memory: [9, 1, 7, 3], disk: same(8), free: same(1),
  });
  expect(hours.map((hour) => [hour.begins, hour.requests, hour.serverErrors, hour.slowest, hour.memory])).toEqual([
    [7200, 4, 1, null, 3], [3600, 5, 2, 5, 7], [0, 1, 1, null, 9],
  ]);
});
