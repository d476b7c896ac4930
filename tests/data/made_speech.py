"""A corpus in the shape of TIMIT, made of sine tones."""

import io
import wave

import numpy as np

RATE = 16_000
PHONES = [(0, 800, "h#"), (800, 1300, "ix"), (1300, 1900, "q"), (1900, 2640, "zh")]


def tone(n, hertz=440.0, loudness=8000.0):
    return np.round(loudness * np.sin(2 * np.pi * hertz * np.arange(n) / RATE)).astype(np.int16)


def sphere(samples, order="01", **fields):
    """Return a SPHERE file; ``fields`` replace or add lines of the header, None drops one."""
    lines = {
        "channel_count": "-i 1", "sample_count": f"-i {len(samples)}", "sample_rate": f"-i {RATE}",
        "sample_n_bytes": "-i 2", "sample_byte_format": f"-s2 {order}", "sample_sig_bits": "-i 16", **fields,
    }  # fmt: skip
    header = "NIST_1A\n   1024\n" + "".join(f"{k} {v}\n" for k, v in lines.items() if v is not None) + "end_head\n"
    return header.ljust(1024).encode() + samples.astype("<i2" if order == "01" else ">i2").tobytes()


def riff(samples, rate=RATE, channels=1):
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as opened:
        opened.setnchannels(channels)
        opened.setsampwidth(2)
        opened.setframerate(rate)
        opened.writeframes(samples.astype("<i2").tobytes())
    return buffer.getvalue()


def transcript(phones=PHONES):
    return "".join(f"{start} {end} {phone}\n" for start, end, phone in phones).encode()


def write_part(folder, speakers, sound=None, phones=None, lower=False):
    """Write ten sentences per speaker, two of them SA, alike except for their names; and a file of another kind."""
    sound = sphere(tone(2640)) if sound is None else sound
    phones = transcript() if phones is None else phones
    names = [*(f"SX{k}" for k in range(1, 6)), *(f"SI{k}" for k in range(1, 4)), "SA1", "SA2"]
    for number, speaker in enumerate(speakers):
        home = folder / (f"dr{number % 8 + 1}/{speaker.lower()}" if lower else f"DR{number % 8 + 1}/{speaker}")
        home.mkdir(parents=True)
        if not number:
            (home / "SX1.TXT").write_bytes(b"0 2640 words\n")
        for name in names:
            for suffix, content in ((".WAV", sound), (".PHN", phones)):
                (home / (name + suffix).lower() if lower else home / (name + suffix)).write_bytes(content)


def speakers(n):
    return [f"{'FM'[k % 2]}{chr(65 + k // 26 % 26)}{chr(65 + k % 26)}{chr(65 + k // 676)}0" for k in range(n)]
