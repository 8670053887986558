// The page's side of the engine: work runs in workers made of the engine's own text, and cancelling ends the worker.

export function startWorker(payload) {
  const text = document.getElementById("engine").textContent;
  const kind = "text/javascript";
  const address = payload.outside ? `data:${kind};charset=utf-8,${encodeURIComponent(text)}` : URL.createObjectURL(new Blob([text], { type: kind }));
  const { samples, answers, ...about } = payload;
  const idle = [];
  const all = new Set();
  let count = 0;

  function start() {
    const worker = new Worker(address);
    worker.postMessage({ payload: about });
    all.add(worker);
    return worker;
  }

  function end(worker) {
    worker.terminate();
    all.delete(worker);
  }

  // Names and arguments: nearest {states, target, locked, most, budget}, free {states, locked, target, budget}, count {states, most, locked}, towards {states, goal, target, locked},
  // check {text}, certify {sample, target, locked, changes, limit}, bounds {allowed}. A promise of the result; rejected with an AbortError where the signal says stop.
  function run(name, args, { onProgress = () => {}, signal = null } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(new DOMException("cancelled", "AbortError"));
        return;
      }
      const worker = idle.pop() ?? start();
      const id = ++count;
      const leave = () => {
        worker.onmessage = null;
        worker.onerror = null;
        signal?.removeEventListener("abort", cancel);
      };
      const cancel = () => {
        leave();
        end(worker);
        reject(new DOMException("cancelled", "AbortError"));
      };
      worker.onmessage = ({ data }) => {
        if (data.id !== id) return;
        if ("progress" in data) {
          onProgress(data.progress);
          return;
        }
        leave();
        idle.push(worker);
        if ("error" in data) reject(new Error(data.error));
        else resolve(data.result);
      };
      worker.onerror = (event) => {
        leave();
        end(worker);
        reject(new Error(event.message || "the engine stopped"));
      };
      signal?.addEventListener("abort", cancel);
      worker.postMessage({ id, name, args });
    });
  }

  return { run, stop: () => all.forEach(end) };
}
