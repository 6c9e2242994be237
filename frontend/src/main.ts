/** Starts the page: language first, so that nothing is drawn twice. */
import { mount } from "svelte";
import App from "./App.svelte";
import { i18n } from "./i18n/index.svelte";
import "./style.css";
import "./lanes.css";
import "./told.css";

const target = document.getElementById("app");
if (target) void i18n.start().then(() => mount(App, { target }));
