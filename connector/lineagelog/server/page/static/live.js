// One stream of server-sent events per browser: the tab that holds a lock listens, and tells the others.
const CHANNEL = "lineagelog-live";

export function listen(tell) {
  const channel = new BroadcastChannel(CHANNEL);
  let last = null;
  const hear = (news) => {
    if (news.kind === "stored" && news.at === last) return tell("same");
    const isFirst = last === null && news.kind === "stored";
    if (news.kind === "stored") last = news.at;
    tell(isFirst ? "same" : news.kind);
  };
  channel.onmessage = (e) => hear(e.data);
  const lead = () => new Promise((end) => {
    const source = new EventSource("/live");
    const say = (news) => { channel.postMessage(news); hear(news); };
    source.addEventListener("stored", (e) => say({ kind: "stored", at: e.data }));
    let lost = 0;
    source.onopen = () => { clearTimeout(lost); lost = 0; };
    source.onerror = () => {
      lost ||= setTimeout(() => say({ kind: "lost" }), 15000);
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { source.close(); end(); }, 30000);
    };
    addEventListener("pagehide", () => { source.close(); clearTimeout(lost); end(); }, { once: true });
  });
  const queue = () => navigator.locks.request(CHANNEL, lead).then(() => { if (document.visibilityState !== "hidden") queue(); });
  if (navigator.locks) queue(); else lead();
  addEventListener("pageshow", (e) => { if (e.persisted && navigator.locks) queue(); });
}
