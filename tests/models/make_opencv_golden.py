"""What cv2.resize (INTER_LINEAR) makes of small pictures, for tests without OpenCV: tests/fixtures/inputs/opencv.npz.

    python make_opencv_golden.py

For developers; the tests only read what it wrote. Needs opencv-python-headless (4.14 and 5.0 give the same) and Pillow.
"""
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from pictures import picture

INPUTS = Path(__file__).resolve().parent.parent / "fixtures" / "inputs"
# Reduced a little and a lot, enlarged, one way each, to exactly half, to a point.
WIDE = [(40, 31), (17, 11), (80, 60), (20, 55), (70, 9), (61, 23), (1, 1)]
EVEN = [(32, 24), (31, 24)]


def main():
    wide = np.asarray(Image.open(INPUTS / "wide.png").convert("RGB"))
    cases = [("wide", wide, size) for size in WIDE] + [("even", picture(64, 48, 3), size) for size in EVEN]
    np.savez_compressed(INPUTS / "opencv.npz", **{f"{name}_{width}x{height}": cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
                                                  for name, image, (width, height) in cases})


if __name__ == "__main__":
    main()
