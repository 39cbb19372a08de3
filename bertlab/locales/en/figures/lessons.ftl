# What the checks of the exercises in `notebooks` print.
lesson-not-answered = Exercise { $number }: not answered yet. Replace the dots (...) in the cell above and run both cells.
lesson-not-yet = Exercise { $number }: not correct yet. { $advice }
lesson-correct = Exercise { $number }: correct.
lesson-without-checks = The checks are in notebooks/src of the bertlab repository, and that directory was not found on this machine. Clone the repository and open the lessons there with `make lab`.
