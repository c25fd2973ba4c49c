// A plot of numbers over the last day. What it shows stands below it in words, and in the table of hours.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { language } from "../../text/text.ts";

export interface Line {
  label: string;
  values: (number | null)[];
}

interface PlotProps {
  title: string;
  times: number[];
  lines: Line[];
  format: (value: number) => string;
}

const height = 150;
const twoDigits = (n: number) => String(n).padStart(2, "0");
const clock = (time: number) => {
  const at = new Date(time * 1000);
  return `${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`;
};

export function Plot({ title, times, lines, format }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const plot = useRef<uPlot | null>(null);
  const labels = lines.map((line) => line.label).join();
  const data = [times, ...lines.map((line) => line.values)] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const at = place.current;
    if (!at) return;
    // The colours are those of the style sheet, in the scheme of now.
    const colorOf = (index: number) => {
      const sign = legend.current?.children[index]?.firstElementChild;
      return sign ? getComputedStyle(sign).color : "";
    };
    const axis: uPlot.Axis = {
      stroke: () => getComputedStyle(at).color,
      grid: { stroke: () => getComputedStyle(at).borderTopColor, width: 1 },
      ticks: { show: false },
      font: "12px system-ui",
    };
    const made = new uPlot(
      {
        width: at.clientWidth,
        height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: { y: { range: (_, __, most) => [0, Math.max(most, 1) * 1.05] } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map(clock), space: 70, size: 28 },
          { ...axis, values: (_, ticks) => ticks.map(format), size: 72 },
        ],
        series: [{}, ...labels.split(",").map((label, i) => ({ label, stroke: () => colorOf(i), width: 1.5, points: { show: false } }))],
      },
      latest.current,
      at,
    );
    plot.current = made;
    const sized = new ResizeObserver(() => made.setSize({ width: at.clientWidth, height }));
    sized.observe(at);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => made.redraw(false);
    scheme.addEventListener("change", redraw);
    return () => {
      scheme.removeEventListener("change", redraw);
      sized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [labels, format]);
  useEffect(() => plot.current?.setData(data), [data]);

  const last = (values: (number | null)[]) => values.findLast((value) => value !== null) ?? null;
  return (
    <figure className="plot">
      <figcaption><h2>{title}</h2></figcaption>
      <div ref={place} className="canvas" aria-hidden="true" />
      <ul ref={legend} className="legend" lang={language}>
        {lines.map(({ label, values }) => {
          const now = last(values);
          return (
            <li key={label}><span className="line" aria-hidden="true" /> {label}: {now === null ? "–" : format(now)}</li>
          );
        })}
      </ul>
    </figure>
  );
}
