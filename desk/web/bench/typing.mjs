// Measures how long the page works for each key that is typed into it.

// typing types into an input, and returns for each key the milliseconds that the main thread of the page had of a
// processor from this key to the next one, by a trace: with script, style, layout and paint.
export async function typing(p, input, text) {
  await input.click();
  const client = await p.context().newCDPSession(p);
  await client.send("Tracing.start", {
    categories: "devtools.timeline,disabled-by-default-devtools.timeline",
    transferMode: "ReportEvents",
  });
  const events = [];
  client.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  for (const c of text) await p.keyboard.type(c);
  const done = new Promise((resolve) => client.once("Tracing.tracingComplete", resolve));
  await client.send("Tracing.end");
  await done;
  // The work for a key is that of its events and of the frame that follows: script, style, layout and paint.
  const main = events.find((e) => e.name === "EventDispatch" && e.args?.data?.type === "keydown");
  const own = events.filter((e) => e.tid === main.tid && e.pid === main.pid && e.dur !== undefined);
  const tasks = own.filter((e) => e.name === "RunTask").sort((x, y) => x.ts - y.ts);
  const keys = own
    .filter((e) => e.name === "EventDispatch" && e.args.data.type === "keydown")
    .map((e) => e.ts)
    .sort((x, y) => x - y);
  return keys.map((begin, i) => {
    const end = keys[i + 1] ?? Infinity;
    return (
      tasks
        .filter((task) => task.ts + task.dur > begin && task.ts < end)
        .reduce((sum, task) => sum + (task.tdur ?? task.dur), 0) / 1000
    );
  });
}

// p95 returns the value that 95 of 100 do not exceed.
export const p95 = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.95)];
