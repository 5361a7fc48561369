// Times: relative in the text; in the viewer's zone and in UTC on hover, focus and for screen readers.
export const now = () => new Date();
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const local = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
export const hm = (d) => clock.format(d);
export const dayMonth = (d) => day.format(d);

export function relative(date) {
  const s = Math.round((now() - date) / 1000), a = Math.abs(s);
  if (a < 5) return "now";
  const text = a < 90 ? `${a} s` : a < 5400 ? `${Math.round(a / 60)} min` : a < 129600 ? `${Math.round(a / 3600)} h` : `${Math.round(a / 86400)} d`;
  return s >= 0 ? `${text} ago` : `in ${text}`;
}
export const absolute = (date) => `${local.format(date)} (${zone})\n${date.toISOString().replace("T", " ").replace("Z", "").replace(".000", "")} UTC`;

export function fill(scope = document) {
  for (const time of scope.querySelectorAll("time[datetime]")) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(+date)) continue;
    time.textContent = time.dataset.as === "hm" ? hm(date) : time.dataset.as === "full" ? `${dayMonth(date)} ${hm(date)}` : relative(date);
    time.title = absolute(date);
  }
  for (const text of scope.querySelectorAll("text[data-at]")) text.textContent = hm(new Date(text.dataset.at));
}
