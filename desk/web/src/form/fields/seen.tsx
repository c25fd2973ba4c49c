import { type ReactNode, useEffect, useRef, useState } from "react";

// WhenSeen shows its content once it is near to what is seen of the page, so that a long form opens without making all
// of its editors.
export function WhenSeen({ children, labelledBy }: { children: ReactNode; labelledBy: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const watcher = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true),
      { rootMargin: "600px" },
    );
    if (place.current) watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  // The place takes the focus, so that Tab finds an editor that is not there yet.
  return isSeen ? (
    children
  ) : (
    <div
      ref={place}
      className="field-unseen"
      tabIndex={0}
      role="group"
      aria-labelledby={labelledBy}
      onFocus={() => setSeen(true)}
    />
  );
}
