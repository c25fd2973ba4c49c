// The alternative texts of images, one after the other: those without one first. The order is that of the beginning, so
// that nothing moves away under the hands.
import { useQueries, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { ask } from "../../api/client.ts";
import { describe, type FileValue, filterOf } from "../../files/library.ts";
import { Thumbnail } from "../../files/thumbnail.tsx";
import { t } from "../../text/text.ts";
import { messageOf, Problem, Waiting } from "../../ui/states.tsx";

const pageSize = 40;
const rowHeight = 88; // CSS pixels; media.css has the same

interface Row {
  id: number;
  name: string;
  alternativeText: string | null;
}

// A Typed is what somebody has typed for a file.
interface Typed {
  text: string;
  state: "typed" | "saving" | "saved";
  problem: string;
}

export function Texts({ search }: { search: string }) {
  const [opened] = useState(() => Date.now()); // another visit has another order
  const all = useQuery({
    queryKey: ["texts", search, opened],
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    queryFn: async ({ signal }) => {
      const query = { filters: filterOf(search, ["images"]), fields: ["name", "alternativeText"], sort: "createdAt:desc" };
      const rows = (await ask<Row[]>({ path: "upload/files", query, signal })).body;
      return [...rows.filter((row) => !row.alternativeText), ...rows.filter((row) => row.alternativeText)];
    },
  });
  const rows = all.data ?? [];
  const [typed, setTyped] = useState<ReadonlyMap<number, Typed>>(new Map());
  const scroller = useRef<HTMLDivElement>(null);
  const wanted = useRef<number | null>(null); // the row that is to have the focus
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 5,
  });
  const visible = virtual.getVirtualItems();
  const pages = [...new Set(visible.map((item) => Math.floor(item.index / pageSize)))];
  const pictures = useQueries({
    queries: pages.map((page) => {
      const ids = rows.slice(page * pageSize, (page + 1) * pageSize).map((row) => row.id);
      const query = { filters: { id: { $in: ids } }, fields: ["name", "url", "mime", "ext", "formats", "updatedAt"] };
      return {
        queryKey: ["files", "pictures", ids],
        queryFn: async ({ signal }: { signal: AbortSignal }) => (await ask<FileValue[]>({ path: "upload/files", query, signal })).body,
      };
    }),
  });
  const pictureOf = (row: Row, index: number) =>
    pictures[pages.indexOf(Math.floor(index / pageSize))]?.data?.find((file) => file.id === row.id);

  const set = (id: number, change: Partial<Typed>) =>
    setTyped((old) => new Map(old).set(id, { text: "", state: "typed", problem: "", ...old.get(id), ...change }));
  const savedTexts = useRef(new Map<number, string>());
  const savedText = (row: Row) => savedTexts.current.get(row.id) ?? row.alternativeText ?? "";
  const textOf = (row: Row) => typed.get(row.id)?.text ?? savedText(row);

  const save = async (row: Row, text: string) => {
    if (text === savedText(row)) return;
    set(row.id, { text, state: "saving", problem: "" });
    try {
      await describe(row.id, { alternativeText: text });
      savedTexts.current.set(row.id, text);
      setTyped((old) => {
        const now = old.get(row.id);
        return now ? new Map(old).set(row.id, { ...now, state: now.text === text ? "saved" : "typed" }) : old;
      });
    } catch (err) {
      set(row.id, { state: "typed", problem: messageOf(err) });
    }
  };
  const focus = (index: number) => {
    if (index < 0 || index >= rows.length) return;
    wanted.current = index;
    virtual.scrollToIndex(index);
    scroller.current?.querySelector<HTMLInputElement>(`[data-index="${index}"]`)?.focus();
  };
  useEffect(() => {
    if (rows.length > 0) focus(0);
  }, [all.data]);

  if (all.error) return <Problem error={all.error} retry={() => void all.refetch()} />;
  if (!all.data) return <Waiting />;
  const missing = rows.filter((row) => !savedText(row)).length;
  return (
    <>
      <p className="quiet" role="status">{missing === 1 ? t("files.textMissingOne") : missing > 1 ? t("files.textMissing", { n: missing }) : t(rows.length > 0 ? "files.allHaveText" : "files.none")}</p>
      {rows.length > 0 && <p className="quiet">{t("files.textsLead")}</p>}
      <div ref={scroller} className="scroller" tabIndex={-1}>
        <ul className="texts" ref={(e) => { if (e) e.style.height = `${virtual.getTotalSize()}px`; }}>
          {visible.map(({ index, start }) => {
            const row = rows[index]!;
            const file = pictureOf(row, index);
            const own = typed.get(row.id);
            return (
              <li key={row.id} aria-setsize={rows.length} aria-posinset={index + 1} ref={(e) => { if (e) e.style.transform = `translateY(${start}px)`; }}>
                {file ? <Thumbnail file={file} /> : <span className="thumbnail" />}
                <div className="text">
                  <span className="text-head">
                    <span className="file-name">{row.name}</span>
                    {own?.state === "saved" && <span className="saved">{t("files.saved")}</span>}
                    {own?.problem && <span role="alert" className="problem">{t("files.notSaved", { message: own.problem })}</span>}
                  </span>
                  <input
                    ref={(e) => {
                      if (!e || wanted.current !== index) return;
                      wanted.current = null;
                      e.focus();
                    }}
                    data-index={index}
                    aria-label={t("files.textOf", { name: row.name })}
                    value={textOf(row)}
                    onChange={(event) => set(row.id, { text: event.target.value, state: "typed" })}
                    onBlur={(event) => void save(row, event.target.value)}
                    onKeyDown={(event) => {
                      const by = { Enter: 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
                      if (by === undefined || event.nativeEvent.isComposing) return;
                      event.preventDefault();
                      void save(row, event.currentTarget.value);
                      focus(index + by);
                    }}
                  />
                </div>
              </li>
            );
          })}
        </ul>
      </div>
    </>
  );
}
