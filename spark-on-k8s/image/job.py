"""What spark-submit starts in the driver: the package's one entry."""

import sys

from millstream_spark.main import main

sys.exit(main())
