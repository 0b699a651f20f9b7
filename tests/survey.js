// What a reader gets of this page: sizes, links, headings, contrast. Runs in the page and changes nothing but
// what is folded. One function, because a page's policy allows no script file.
() => {
  const OPEN_FOLDED = true;
  const RECT_SLACK_PX = 1;
  const PHONE_PX = 544;  // 34 rem, as in the style sheet
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (OPEN_FOLDED) for (const folded of all("details")) folded.open = true;

  const shown = (element) => {
    const box = element.getBoundingClientRect();
    return element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && box.width > 0 && box.height > 0;
  };
  const named = (element) =>
    element.tagName.toLowerCase() + (element.id ? "#" + element.id : "") +
    (typeof element.className === "string" && element.className ? "." + element.className.trim().replace(/\s+/g, ".") : "") +
    " " + JSON.stringify((element.textContent || element.alt || "").trim().slice(0, 40));

  // Contrast, as WCAG 2.2 defines it: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
  const parsed = (colour) => {
    const match = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(colour);
    if (!match) throw new Error("a colour that is not understood: " + colour);
    return [+match[1], +match[2], +match[3], match[4] === undefined ? 1 : +match[4]];
  };
  const over = (top, under) => {
    const a = top[3];
    return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a)).concat(1);
  };
  const canvas = () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const both = getComputedStyle(document.documentElement).colorScheme.includes("dark");
    return dark && both ? [18, 18, 18, 1] : [255, 255, 255, 1];
  };
  const backs = new Map();
  const background = (element) => {
    if (!element) return canvas();
    if (!backs.has(element)) {
      const own = parsed(getComputedStyle(element).backgroundColor);
      backs.set(element, own[3] === 1 ? own : over(own, background(element.parentElement)));
    }
    return backs.get(element);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((c) => {
      c /= 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const opacity = (element) => (element ? +getComputedStyle(element).opacity * opacity(element.parentElement) : 1);
  const pale = new Map();
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const back = background(element);
    const colour = parsed(style.color);
    colour[3] *= opacity(element);
    const ratio = contrast(over(colour, back), back);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) pale.set(style.color + back, `${ratio.toFixed(2)} ${style.color} ${named(element)}`);
  }

  // What is wider than the page, unless it scrolls in a box of its own.
  const width = document.documentElement.clientWidth;
  const scrolls = (element) =>
    element && element !== document.body &&
    (["auto", "scroll"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const wide = all("body *").filter((element) => {
    const box = element.getBoundingClientRect();
    return shown(element) && box.right > width + RECT_SLACK_PX && box.right > 0 && box.left < width && !scrolls(element);
  });
  const tables = all("table").filter(shown);

  // Headings with a word that stands in two lines: what may be broken at a hyphen, a slash or a mark is several words.
  const torn = (word) => new Set([...word.getClientRects()].map((line) => Math.round(line.top))).size > 1;
  const words = (node) => [...node.data.matchAll(/[\p{L}\p{N}]+/gu)].map(({ index, 0: word }) => {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    return range;
  });
  const texts_of = (element) => [...element.childNodes].flatMap((node) => (node.nodeType === Node.TEXT_NODE ? [node] : texts_of(node)));
  const tornHeadings = all("h1, h2, h3, h4, th").filter((heading) => shown(heading) && texts_of(heading).flatMap(words).some(torn));
  const spilledHeadings = all("th").filter((heading) => shown(heading) && heading.scrollWidth > heading.clientWidth + 1);

  // Targets that are too small for a finger and have another one within reach, unless they stand in a sentence:
  // https://www.w3.org/TR/WCAG22/#target-size-minimum
  const TARGET_PX = 24;
  const box = (element) => element.getBoundingClientRect();
  const middle = ({ left, right, top, bottom }) => [(left + right) / 2, (top + bottom) / 2];
  const targets = all("a[href], summary").filter((target) => shown(target) && box(target).right > 0);
  const alone = (target) => {
    const around = target.closest("p, li, td, th, h1, h2, h3, h4, summary, caption") ?? target.parentElement;
    return around === target || around.textContent.trim() === target.textContent.trim();
  };
  const tiny = (target) => Math.min(box(target).width, box(target).height) < TARGET_PX;
  const near = (one, other) => {
    const [x, y] = middle(box(one)), near = box(other);
    const to = tiny(other)
      ? Math.hypot(middle(near)[0] - x, middle(near)[1] - y) - TARGET_PX / 2
      : Math.hypot(Math.max(near.left - x, 0, x - near.right), Math.max(near.top - y, 0, y - near.bottom));
    return to < TARGET_PX / 2 - RECT_SLACK_PX;
  };
  const cramped = targets.filter(
    (target) => tiny(target) && alone(target) && targets.some((other) => other !== target && near(target, other)));

  // Of a verdict, the interval is seen beside the speed-up before a table scrolls; a list on a phone has no headings.
  const verdicts = width < PHONE_PX ? ":is([id^=T_verdicts], [id^=T_front]):not(.stacked)" : ":is([id^=T_verdicts], [id^=T_front])";
  const intervals = all(`${verdicts} thead th`).filter((th) => shown(th) && th.textContent.startsWith("95"));

  const boxes = all(".scroll, pre, math[display=block]");
  const body = getComputedStyle(document.body);
  return {
    lang: document.documentElement.lang,
    title: document.title,
    page: body.backgroundColor + " " + body.color,
    colourScheme: getComputedStyle(document.documentElement).colorScheme,
    texts: texts,
    pale: [...pale.values()],
    width: width,
    pageScrolls: document.documentElement.scrollWidth - width,
    wide: wide.map(named),
    tornHeadings: tornHeadings.map(named),
    spilledHeadings: spilledHeadings.map(named),
    // On a phone a table that is a list has no other side.
    stackedOutside: all(".stacked").filter((t) => shown(t) && width < PHONE_PX && t.scrollWidth > t.parentElement.clientWidth + RECT_SLACK_PX).map(named),
    intervalsOutside: intervals.filter((heading) => box(heading).right > width + RECT_SLACK_PX).map(named),
    unboxed: all("table").filter((table) => shown(table) && !table.closest(".scroll")).map(named),
    scrolling: all(".scroll").filter((box) => shown(box) && box.scrollWidth > box.clientWidth).map(named),
    pictures: all("img").filter(shown).map((image) => {
      const { left, right, width, height, bottom } = image.getBoundingClientRect();
      const alt = (image.getAttribute("alt") || "").trim();
      return { name: named(image), alt, decoded: image.complete && image.naturalWidth > 0, left, right, width, height,
        bottom: bottom + scrollY, answers: image.closest(".answer") !== null };
    }),
    allPictures: all("img").length,
    cramped: cramped.map(named),
    headings: all("h1, h2, h3, h4, h5, h6").filter(shown).map((h) => [+h.tagName[1], h.textContent.trim()]),
    ids: all("[id]").map((element) => element.id),
    links: all("a[href]").map((link) => link.getAttribute("href")),
    nameless: all("a[href], summary, [role=region], nav").filter(
      (element) => !element.textContent.trim() && !element.getAttribute("aria-label")
    ).map(named),
    // Of interest on paper.
    navigation: all(".skip, nav").filter(shown).map(named),
    codeFolded: all("details.code:not([open])").length,
    codeShown: all("details.code:not([open]) .highlight").filter(shown).length,
    codeSummaries: all("details.code:not([open]) > summary").filter(shown).length,
    layersShown: all("details [id^=T_layers] tr").filter((row) => row.checkVisibility({ contentVisibilityAuto: true })).length,
    torn: all(".figure, tr").filter((e) => shown(e) && !e.querySelector(":scope img.tall") && getComputedStyle(e).breakInside !== "avoid").map(named),
    boxed: boxes.filter((e) => shown(e) && getComputedStyle(e).overflowX !== "visible").map(named),
  };
};
