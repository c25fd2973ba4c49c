// Signs that not every font has. Their buttons have labels, so they themselves are hidden from screen readers.
function Icon({ path }: { path: string }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}

export const LinkIcon = () => (
  <Icon path="M6.5 9.5l3-3M7 4.5l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5L7.5 13A3.2 3.2 0 0 1 3 8.5L4.5 7" />
);
export const CopyIcon = () => <Icon path="M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3" />;
