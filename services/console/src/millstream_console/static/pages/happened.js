// What happened to the cluster as a whole: controllers, nodes, feature levels, settings for all.

import { put } from "../dom.js";
import { head } from "../parts.js";
import { storyCard } from "../story.js";

export function title() {
  return "What happened";
}

export function draw(main, query, signal) {
  put(main, head("What happened"), storyCard("cluster", "", signal, "Controllers, nodes and features"));
}
