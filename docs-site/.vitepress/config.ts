import { apiPath, publicModules } from "../api.ts";
import { type Page, readSections } from "../pages.ts";

const entry = ({ title, path }: Page) =>
  path === "index" ? { text: "Introduction", link: "/" } : { text: title, link: `/${path}` };
const sections = readSections();

export default {
  title: "Selvedge",
  description: "A TypeScript framework for AI agents with durable threads",
  lang: "en-GB",
  srcDir: "tmp",
  srcExclude: ["public/**"],
  outDir: "../dist/docs",
  cacheDir: "tmp/cache",
  head: [["link", { rel: "icon", href: "/icon.svg", type: "image/svg+xml" }]],
  themeConfig: {
    logo: { src: "/icon.svg", alt: "" },
    nav: [{ text: "API reference", link: "/api/" }],
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: [
      ...sections.map(({ name, pages }) => ({
        text: name,
        collapsed: name === "Packages",
        items: pages.map(entry),
      })),
      {
        text: "API reference",
        collapsed: true,
        items: publicModules().map((module) => ({ text: module.name, link: `/${apiPath(module)}` })),
      },
    ],
  },
};
