// Asks several times a second whether the class has moved on, and runs the panel of the lesson again if it has. The text
// of a new step comes with the answer and takes the place of the panel until the panel is drawn.
const INTERVAL = 350; // milliseconds; three times as long in a tab that nobody sees
const PATIENCE = 4000; // after this time without an answer of the app, the same news is reported again
const READING_TIME = 400; // between the text of a step and its page: every screen has the text before pages are drawn

const stepOf = (news) => news.split(" ")[0].split(".").slice(0, 2).join(".");

export default function ({ data, parentElement, setTriggerValue }) {
  const watch = (parentElement.bertlabWatch ??= { shownFrom: "" });
  const place = parentElement.querySelector(".news");
  const panelPart = place.closest(".st-key-class-news").parentElement;
  const show = (html) => {
    if (watch.html === html) return;
    place.innerHTML = watch.html = html;
    panelPart.toggleAttribute("data-reading", html !== ""); // hides what follows, the panel of the previous step
  };
  const { seen, parts, lang } = data;
  Object.assign(watch, { seen, parts, lang, report: (news) => setTriggerValue("news", news) });
  if (stepOf(seen) !== watch.shownFrom) show(""); // the panel is that of the new step
  if (watch.timer) return undefined;
  let turn = 0;
  const ask = async () => {
    turn += 1;
    if (!document.hidden || turn % 3 === 0) {
      try {
        const query = new URLSearchParams({ seen: watch.seen, lang: watch.lang });
        const answer = await fetch(`/class/news?${query}`, { cache: "no-store", signal: AbortSignal.timeout(5000) });
        const [line, text = ""] = answer.ok ? (await answer.text()).split(/\n(.*)/s) : [watch.seen];
        const news = line.split(" ").slice(0, watch.parts).join(" ");
        if (stepOf(news) === stepOf(watch.seen)) show("");
        const isKnown = news === watch.seen || (news === watch.reported && Date.now() - watch.time < PATIENCE);
        if (!isKnown && watch.timer) {
          if (text) {
            watch.shownFrom = stepOf(watch.seen);
            show(text);
            await new Promise((resolve) => setTimeout(resolve, READING_TIME));
          }
          Object.assign(watch, { reported: news, time: Date.now() });
          if (watch.timer) watch.report(news);
        }
      } catch { /* the server is not there; the next question may find it */ }
    }
    if (watch.timer) watch.timer = setTimeout(ask, INTERVAL * (0.8 + 0.4 * Math.random()));
  };
  watch.timer = setTimeout(ask, INTERVAL * Math.random());
  return () => {
    clearTimeout(watch.timer);
    watch.timer = 0;
    show("");
  };
}
