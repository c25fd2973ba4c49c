// A table that scrolls by itself where the window is narrow.
import type { ReactNode } from "react";

export type Cell = ReactNode;

interface TableProps {
  title: string;
  columns: { title: string; number?: boolean }[];
  rows: { key: string; cells: Cell[] }[];
}

export function Table({ title, columns, rows }: TableProps) {
  const kind = (i: number) => (columns[i]?.number ? "number" : undefined);
  return (
    <div className="wide" role="region" aria-label={title} tabIndex={0}>
      <table>
        <thead>
          <tr>{columns.map((column, i) => <th key={column.title} scope="col" className={kind(i)}>{column.title}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            // The cells of a row are always the same ones.
            <tr key={key}>{cells.map((cell, i) => <td key={columns[i]?.title} className={kind(i)}>{cell}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
