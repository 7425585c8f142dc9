// A list to choose one from, with its name before it.

export function Choice(props: {
  label: string;
  /** For those who look for it in the page: its `data-filter`. */
  name?: string;
  value: string;
  /** Each with what is shown of it. */
  options: [value: string, text: string][];
  choose: (value: string) => void;
}) {
  return (
    <label>
      {props.label}{" "}
      <select value={props.value} data-filter={props.name}
        onChange={(event) => props.choose(event.currentTarget.value)}>
        {props.options.map(([value, text]) => <option value={value} key={value}>{text}</option>)}
      </select>
    </label>
  );
}
