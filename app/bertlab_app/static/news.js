// Asks the server several times a second whether the class has moved on, and runs the panel of the lesson again if it has.
// The response begins with the news: one line about the state of the class. The text of a new step follows, which replaces
// the panel until the new panel is drawn.
const INTERVAL_MS = 350; // between two requests; three times as long in a hidden tab
const REPEAT_MS = 4000; // if the panel has not run after this time, the same news is reported again
const READING_MS = 400; // between the text of a step and its page, so that every screen has the text before pages are drawn

const stepOf = (news) => news.split(" ")[0].split(".").slice(0, 2).join(".");

export default function ({ data, parentElement, setTriggerValue }) {
  // shownFrom: the step that the panel still showed when the text of a new step was put over it
  const watch = (parentElement.bertlabWatch ??= { shownFrom: "" });
  const container = parentElement.querySelector(".news");
  const panelPart = container.closest(".st-key-class-news").parentElement;
  const show = (html) => {
    if (watch.html === html) return;
    container.innerHTML = watch.html = html;
    panelPart.toggleAttribute("data-reading", html !== ""); // hides what follows, the panel of the previous step
  };
  // seen: the news that the panel shows; parts: how many words of the news the panel depends on
  const { seen, parts, lang } = data;
  Object.assign(watch, { seen, parts, lang, report: (news) => setTriggerValue("news", news) });
  if (stepOf(seen) !== watch.shownFrom) show(""); // the panel already shows the new step
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
        const isKnown = news === watch.seen || (news === watch.reported && Date.now() - watch.time < REPEAT_MS);
        if (!isKnown && watch.timer) {
          if (text) {
            watch.shownFrom = stepOf(watch.seen);
            show(text);
            await new Promise((resolve) => setTimeout(resolve, READING_MS));
          }
          Object.assign(watch, { reported: news, time: Date.now() });
          if (watch.timer) watch.report(news);
        }
      } catch { /* the server cannot be reached; the next request may succeed */ }
    }
    if (watch.timer) watch.timer = setTimeout(ask, INTERVAL_MS * (0.8 + 0.4 * Math.random()));
  };
  watch.timer = setTimeout(ask, INTERVAL_MS * Math.random());
  return () => {
    clearTimeout(watch.timer);
    watch.timer = 0;
    show("");
  };
}
