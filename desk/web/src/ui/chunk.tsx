// Parts of the page that are loaded when somebody first needs them.
import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { Problem } from "./states.tsx";

// chunk returns a component that shows another one as soon as it is loaded, and fallback before. If it cannot be loaded,
// as without a network, it says so and offers to try again; what is around it stays as it is. A Suspense of React would
// show the fallback for 300 ms at least.
export function chunk<P extends object>(load: () => Promise<{ default: ComponentType<P> }>) {
  let loaded: ComponentType<P> | null = null;
  return function Chunk({ fallback, ...props }: P & { fallback: ReactNode }) {
    const [Inner, setInner] = useState(() => loaded);
    const [problem, setProblem] = useState<unknown>(null);
    const [tries, setTries] = useState(0);
    useEffect(() => {
      if (Inner) return;
      let isOver = false;
      setProblem(null);
      load().then(
        (part) => {
          loaded = part.default;
          if (!isOver) setInner(() => part.default);
        },
        (error: unknown) => isOver || setProblem(error),
      );
      return () => {
        isOver = true;
      };
    }, [tries]);
    if (Inner) return <Inner {...(props as unknown as P)} />;
    return (
      <>
        {problem !== null && <Problem error={problem} retry={() => setTries(tries + 1)} />}
        {fallback}
      </>
    );
  };
}
