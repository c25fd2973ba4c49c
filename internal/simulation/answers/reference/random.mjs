// Random numbers that a seed decides (mulberry32), and choices made with them.
export class Random {
	#state;

	constructor(seed) {
		this.#state = seed >>> 0;
	}

	// next returns a number from 0 up to but not including 1.
	next() {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let t = this.#state;
		t = Math.imul(t ^ (t >>> 15), t | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	}

	// below returns an integer from 0 up to but not including n.
	below(n) {
		return Math.floor(this.next() * n);
	}

	chance(probability) {
		return this.next() < probability;
	}

	pick(list) {
		return list[this.below(list.length)];
	}

	// sample returns up to n different elements in a random order.
	sample(list, n) {
		const rest = [...list];
		const chosen = [];
		while (chosen.length < n && rest.length > 0) chosen.push(rest.splice(this.below(rest.length), 1)[0]);
		return chosen;
	}

	times(n, make) {
		return Array.from({ length: n }, make);
	}
}
