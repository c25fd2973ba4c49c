// A grid of files: it loads the pages that come into view, whatever the number of files.
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { ask, type Request } from "../../api/client.ts";
import type { FileValue } from "../../files/library.ts";
import { Thumbnail } from "../../files/thumbnail.tsx";
import { t } from "../../text/text.ts";
import { PlaceLink } from "../../ui/link.tsx";
import { Problem } from "../../ui/states.tsx";

const pageSize = 60;
const fields = ["name", "url", "mime", "ext", "alternativeText", "formats", "updatedAt"];
const [tile, rowHeight] = [152, 184]; // CSS pixels; media.css has the same

interface GridProps {
  request: Request;
  total: number;
  path: string[];
  query: (file: number) => URLSearchParams;
}

export function Grid({ request, total, path, query }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const columns = Math.max(1, Math.floor(useWidth(scroller) / tile));
  const queries = useQueryClient();
  const rows = useVirtualizer({
    count: Math.ceil(total / columns),
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 3,
  });
  const visible = rows.getVirtualItems();
  const indexes = visible.flatMap((row) => Array.from({ length: columns }, (_, i) => row.index * columns + i)).filter((i) => i < total);
  const pages = [...new Set(indexes.map((index) => Math.floor(index / pageSize)))];
  const loaded = useQueries({
    queries: pages.map((page) => {
      const asked: Request = { ...request, query: { ...request.query, fields, start: page * pageSize, limit: pageSize } };
      return {
        queryKey: ["files", "page", asked.query],
        queryFn: async ({ signal }: { signal: AbortSignal }) => (await ask<FileValue[]>({ ...asked, signal })).body,
      };
    }),
  });
  const failed = loaded.find((page) => page.error)?.error;
  const fileAt = (index: number) => loaded[pages.indexOf(Math.floor(index / pageSize))]?.data?.[index % pageSize];

  return (
    <>
      {failed && <Problem error={failed} retry={() => void queries.invalidateQueries({ queryKey: ["files"] })} />}
      <div ref={scroller} className="scroller" tabIndex={-1}>
        <ul className="tiles" aria-label={t("files.open")} ref={(e) => { if (e) e.style.height = `${rows.getTotalSize()}px`; }}>
          {indexes.map((index) => {
            const file = fileAt(index);
            const row = Math.floor(index / columns);
            return (
              <li
                key={index}
                aria-setsize={total}
                aria-posinset={index + 1}
                ref={(e) => {
                  if (!e) return;
                  e.style.width = `${100 / columns}%`;
                  e.style.transform = `translate(${(index % columns) * 100}%, ${row * rowHeight}px)`;
                }}
              >
                {file && (
                  <PlaceLink to={path} query={query(file.id)} className="tile" title={file.name}>
                    <Thumbnail file={file} />
                    <span className="file-name">{file.name}</span>
                  </PlaceLink>
                )}
              </li>
            );
          })}
        </ul>
      </div>
    </>
  );
}

// useWidth returns the width of an element, as it changes.
function useWidth(of: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    if (of.current) observer.observe(of.current);
    return () => observer.disconnect();
  }, [of]);
  return width;
}
