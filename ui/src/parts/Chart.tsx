// A drawing in the width that there is, drawn again when that or its data changes.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

import type { Drawn, Look } from "../charts/common";
import { useWords } from "../view";

export interface ChartProps {
  /** For those who don't see it: what it shows. */
  label: string;
  draw: (look: Look) => Drawn;
  /** What `draw` depends on. */
  of: readonly unknown[];
  name: string;
}

export function Chart({ label, draw, of, name }: ChartProps) {
  const words = useWords();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  useLayoutEffect(() => {
    if (!box.current || width === 0) return;
    const drawn = draw({ width, words });
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", label);
    box.current.replaceChildren(drawn);
  }, [width, words, label, ...of]);
  return <div class="chart" data-chart={name} ref={box} />;
}

/** No drawing has room for its axes in less; what is narrower scrolls. */
const NARROWEST_PX = 200;

/** The width to draw in, in whole pixels; 0 until it is laid out. */
export function useWidth(box: RefObject<HTMLElement>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = () => {
      const inside = Math.floor(element.clientWidth);
      setWidth(inside === 0 ? 0 : Math.max(NARROWEST_PX, inside));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}
