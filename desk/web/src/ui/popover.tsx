// A box beside the button that opened it. It is within the main part of the page, so that a screen reader has it in a
// landmark.
import type { ReactNode } from "react";
import { Popover } from "react-aria-components";

export function Box({ children }: { children: ReactNode }) {
  return (
    <Popover className="popover" UNSTABLE_portalContainer={document.getElementById("content") ?? undefined}>
      {children}
    </Popover>
  );
}
